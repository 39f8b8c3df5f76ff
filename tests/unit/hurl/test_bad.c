/* What is refused is refused with its place, a caret under it, and words that help. */
#include "parse_test.h"

#include "base/limits.h"

static const struct bad_file {
    const char *text;
    enum pl_code code;
    int line, col;
    const char *what, *hint;
} bad_files[] = {
    {"", PL_INPUT, 0, 0, "the script has no request",
     "A script needs at least one request, like \"GET http://localhost/\"."},
    {"# only a comment\n", PL_INPUT, 0, 0, "the script has no request",
     "A script needs at least one request, like \"GET http://localhost/\"."},
    {"HTTP 200\n", PL_INPUT, 1, 1, "a response needs a request above it", "HTTP 200\n^ error found here"},
    {"get /x\n", PL_INPUT, 1, 1, "a request begins with a method in capitals, like GET or POST: is \"GET\" meant?",
     "get /x\n^ error found here"},
    {"GET\n", PL_INPUT, 1, 4, "the URL is missing after the method", "GET\n   ^ error found here"},
    {"GET \n", PL_INPUT, 1, 4, "the URL is missing after the method", "GET \n   ^ error found here"},
    {"GET /a b\n", PL_INPUT, 1, 7, "a URL holds no blank: it is written %20, or in [Query]",
     "GET /a b\n      ^ error found here"},
    {"GET example.org/x\n", PL_INPUT, 1, 5,
     "a URL begins with http://, https://, a {{variable}}, or with / for a path of the load's base URL",
     "GET example.org/x\n    ^ error found here"},
    {"GET http://\n", PL_INPUT, 1, 12, "the host is missing in the URL", "GET http://\n           ^ error found here"},
    {"GET http:///x\n", PL_INPUT, 1, 12, "the host is missing in the URL", "GET http:///x\n           ^ error found here"},
    {"GET ftp://x\n", PL_INPUT, 1, 5,
     "a URL begins with http://, https://, a {{variable}}, or with / for a path of the load's base URL",
     "GET ftp://x\n    ^ error found here"},
    {"GET /a\\u{1}b\n", PL_INPUT, 1, 5, "a URL holds no blanks and control characters",
     "GET /a\\u{1}b\n    ^ error found here"},
    {"GET /x\nnonsense\n", PL_INPUT, 2, 1,
     "this is neither a request (\"GET http://...\") nor a header, section, body or response",
     "nonsense\n^ error found here"},
    {"GET /x\n{\"a\":1}\nAccept: */*\n", PL_INPUT, 3, 1,
     "headers stand right below the line of the request or response, above sections and body",
     "Accept: */*\n^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus == 200\nHTTP 200\n", PL_INPUT, 5, 1,
     "a request has one response: this is the second", "HTTP 200\n^ error found here"},
    {"GET /x\n{\"a\":1}\n[Query]\na: 1\n", PL_INPUT, 3, 1,
     "a section stands above the body, below the line of the request or response", "[Query]\n^ error found here"},
    {"GET /x\nA b: c\n", PL_INPUT, 2, 5, "a URL holds no blank: it is written %20, or in [Query]",
     "A b: c\n    ^ error found here"},
    {"GET /x\nA{B}: c\n", PL_INPUT, 2, 1,
     "this is neither a request (\"GET http://...\") nor a header, section, body or response",
     "A{B}: c\n^ error found here"},
    {"GET /x\nX\\u{20}Y: c\n", PL_INPUT, 2, 1, "the name of a header consists of letters, digits and !#$%&'*+-.^_`|~",
     "X\\u{20}Y: c\n^ error found here"},
    {"GET /x\nX: a\\nb\n", PL_INPUT, 2, 1, "the value of a header holds no end of line and no NUL",
     "X: a\\nb\n^ error found here"},
    {"GET /x\nX: a\\qb\n", PL_INPUT, 2, 5, "there is no such escape: a backslash itself is written \\\\",
     "X: a\\qb\n    ^ error found here"},
    {"GET /x\nX: \\u41\n", PL_INPUT, 2, 4, "a character is written as \\u{1f600}: hexadecimal digits in braces",
     "X: \\u41\n   ^ error found here"},
    {"GET /x\nX: \\u{d800}\n", PL_INPUT, 2, 4, "there is no character U+D800", "X: \\u{d800}\n   ^ error found here"},
    {"GET /x\nX: \\u{110000}\n", PL_INPUT, 2, 4, "there is no character U+110000", "X: \\u{110000}\n   ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nduration < 500ms\n", PL_INPUT, 4, 15,
     "a number has no unit here: durations are in milliseconds", "duration < 500ms\n              ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nduration < 5s\n", PL_INPUT, 4, 13,
     "a number has no unit here: durations are in milliseconds", "duration < 5s\n            ^ error found here"},
    {"GET /x\nX: {{}}\n", PL_INPUT, 2, 6, "the name of a variable is missing after \"{{\"",
     "X: {{}}\n     ^ error found here"},
    {"GET /x\nX: {{user\n", PL_INPUT, 2, 10, "\"}}\" is missing: an expression is a variable and its filters",
     "X: {{user\n         ^ error found here"},
    {"GET /x\nX: {{user nth}}\n", PL_INPUT, 2, 14, "a blank is missing before the argument of the filter",
     "X: {{user nth}}\n             ^ error found here"},
    {"GET /x\nX: {{user cuont}}\n", PL_INPUT, 2, 11, "there is no filter \"cuont\": did you mean \"count\"?",
     "X: {{user cuont}}\n          ^ error found here"},
    {"GET /x\nX: {{user | upper}}\n", PL_INPUT, 2, 11, "\"}}\" is missing: an expression is a variable and its filters",
     "X: {{user | upper}}\n          ^ error found here"},
    {"GET /x\nX: {{usr}}\n", PL_INPUT, 2, 6,
     "nothing sets the variable \"usr\" before it is used here: did you mean \"user\"?",
     "X: {{usr}}\n     ^ error found here"},
    {"GET /x\nX: {{nobody_knows}}\n", PL_INPUT, 2, 6, "nothing sets the variable \"nobody_knows\" before it is used here",
     "X: {{nobody_knows}}\n     ^ error found here"},
    {"GET /{{id}}\nHTTP 200\n[Captures]\nid: status\n", PL_INPUT, 1, 8,
     "nothing sets the variable \"id\" before it is used here", "GET /{{id}}\n       ^ error found here"},
    {"GET /x\nX: {{getEnv}}\n", PL_INPUT, 2, 6,
     "the function \"getEnv\" is not supported: give the value with --variable or in the plan",
     "X: {{getEnv}}\n     ^ error found here"},
    {"GET /x\nX: {{randomInt 1 2}}\n", PL_INPUT, 2, 6,
     "the function \"randomInt\" is not supported: draw the value per operation, with --variable 'x=random(1, 100)' or "
     "from a data file",
     "X: {{randomInt 1 2}}\n     ^ error found here"},
    {"GET /x\n[Qury]\na: 1\n", PL_INPUT, 2, 2, "there is no section \"Qury\": did you mean \"Query\"?",
     "[Qury]\n ^ error found here"},
    {"GET /x\n[Everything]\n", PL_INPUT, 2, 2,
     "there is no section \"Everything\": there are Asserts, BasicAuth, Captures, Cookies, Form, FormParams, Multipart, "
     "MultipartFormData, Options, Query, QueryStringParams",
     "[Everything]\n ^ error found here"},
    {"GET /x\n[Asserts]\nstatus == 200\n", PL_INPUT, 2, 1,
     "[Asserts] belongs to a response: \"HTTP 200\" or \"HTTP *\" should stand above it", "[Asserts]\n^ error found here"},
    {"GET /x\nHTTP 200\n[Query]\na: 1\n", PL_INPUT, 3, 1, "[Query] belongs to a request, above the response",
     "[Query]\n^ error found here"},
    {"GET /x\n[Query]\na: 1\n[QueryStringParams]\nb: 1\n", PL_INPUT, 4, 1, "a second section [QueryStringParams]",
     "[QueryStringParams]\n^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\n[Captures]\n[Asserts]\n", PL_INPUT, 5, 1, "a second section [Asserts]",
     "[Asserts]\n^ error found here"},
    {"GET /x\n[Query] a: 1\n", PL_INPUT, 2, 9, "\"a:\" is too much: the line should end here",
     "[Query] a: 1\n        ^ error found here"},
    {"GET /x\n[BasicAuth]\na: b\nc: d\n", PL_INPUT, 3, 1, "[BasicAuth] has one line: \"name: password\"",
     "a: b\n^ error found here"},
    {"GET /x\n[BasicAuth]\na: b\n[Options]\nuser: a:b\n", PL_INPUT, 5, 7,
     "the request has both [BasicAuth] and the option \"user\"", "user: a:b\n      ^ error found here"},
    {"GET /x\n[Options]\nuser: a:b\n[BasicAuth]\na: b\n", PL_INPUT, 5, 1,
     "the request has both [BasicAuth] and the option \"user\"", "a: b\n^ error found here"},
    {"GET /x\n[Options]\nuser: alice\n", PL_INPUT, 3, 7, "\"name:password\" should stand here; each may be a {{variable}}",
     "user: alice\n      ^ error found here"},
    {"GET /x\n[Options]\nretri: 1\n", PL_INPUT, 3, 1, "there is no option \"retri\": did you mean \"retry\"?",
     "retri: 1\n^ error found here"},
    {"GET /x\n[Options]\nmax_redirs: 1\n", PL_INPUT, 3, 1,
     "there is no option \"max_redirs\": did you mean \"max-redirs\"?", "max_redirs: 1\n^ error found here"},
    {"GET /x\n[Options]\nunheard-of: 1\n", PL_INPUT, 3, 1,
     "there is no option \"unheard-of\": there are compressed, connect-timeout, delay, header, http1.0, http1.1, http2, "
     "insecure, location, max-redirs, max-time, repeat, retry, retry-interval, skip, unix-socket, user, variable, verbose, "
     "verbosity, very-verbose",
     "unheard-of: 1\n^ error found here"},
    {"GET /x\n[Options]\nproxy: localhost:8080\n", PL_INPUT, 3, 1,
     "the option \"proxy\" is not supported: what is measured should be the server",
     "proxy: localhost:8080\n^ error found here"},
    {"GET /x\n[Options]\naws-sigv4: aws:amz:eu-central-1:foo\n", PL_INPUT, 3, 1,
     "the option \"aws-sigv4\" is not supported: requests are not signed",
     "aws-sigv4: aws:amz:eu-central-1:foo\n^ error found here"},
    {"GET /x\n[Options]\nhttp3: true\n", PL_INPUT, 3, 1,
     "the option \"http3\" is not supported: HTTP/1.1 and HTTP/2 are spoken", "http3: true\n^ error found here"},
    {"GET /x\n[Options]\nntlm: true\n", PL_INPUT, 3, 1,
     "the option \"ntlm\" is not supported: of authentication only Basic is done", "ntlm: true\n^ error found here"},
    {"GET /x\n[Options]\ndigest: {{flag}}\n", PL_INPUT, 3, 1,
     "the option \"digest\" is not supported: of authentication only Basic is done",
     "digest: {{flag}}\n^ error found here"},
    {"GET /x\n[Options]\nnetrc-file: x\n", PL_INPUT, 3, 1,
     "the option \"netrc-file\" is not supported: credentials stand in the script or its variables",
     "netrc-file: x\n^ error found here"},
    {"GET /x\n[Options]\noutput: x.json\n", PL_INPUT, 3, 1,
     "the option \"output\" is not supported: responses are not written to files", "output: x.json\n^ error found here"},
    {"GET /x\n[Options]\ncert: a.pem\n", PL_INPUT, 3, 1,
     "the option \"cert\" is not supported: it belongs to the whole load: --cert", "cert: a.pem\n^ error found here"},
    {"GET /x\n[Options]\nlocation: yes\n", PL_INPUT, 3, 11, "true or false should stand here",
     "location: yes\n          ^ error found here"},
    {"GET /x\n[Options]\nlocation: {{flag}}\n", PL_INPUT, 3, 11,
     "a variable is not supported here: this is settled before the load begins",
     "location: {{flag}}\n          ^ error found here"},
    {"GET /x\n[Options]\nmax-time: {{count}}\n", PL_INPUT, 3, 11,
     "a variable is not supported here: this is settled before the load begins",
     "max-time: {{count}}\n          ^ error found here"},
    {"GET /x\n[Options]\nmax-redirs: {{count}}\n", PL_INPUT, 3, 13,
     "a variable is not supported here: this is settled before the load begins",
     "max-redirs: {{count}}\n            ^ error found here"},
    {"GET /x\n[Options]\nmax-redirs: -2\n", PL_INPUT, 3, 13, "the number is below -1",
     "max-redirs: -2\n            ^ error found here"},
    {"GET /x\n[Options]\nmax-redirs: 9999999999\n", PL_INPUT, 3, 13, "the number is too large",
     "max-redirs: 9999999999\n            ^ error found here"},
    {"GET /x\n[Options]\nrepeat: -1\n", PL_INPUT, 3, 9,
     "an operation that repeats without limit never ends: the load repeats the script",
     "repeat: -1\n        ^ error found here"},
    {"GET /x\n[Options]\nretry: true\n", PL_INPUT, 3, 8, "a whole number should stand here, or -1 for no limit",
     "retry: true\n       ^ error found here"},
    {"GET /x\n[Options]\ndelay: 1.5s\n", PL_INPUT, 3, 8,
     "a duration is a whole number with ms, s, m or h: 1500ms, not 1.5s", "delay: 1.5s\n       ^ error found here"},
    {"GET /x\n[Options]\ndelay: 5 sec\n", PL_INPUT, 3, 10, "\"sec\" is too much: the line should end here",
     "delay: 5 sec\n         ^ error found here"},
    {"GET /x\n[Options]\ndelay: 5sec\n", PL_INPUT, 3, 9, "there is no unit of time \"sec\": there are ms, s, m, h",
     "delay: 5sec\n        ^ error found here"},
    {"GET /x\n[Options]\ndelay: 5days\n", PL_INPUT, 3, 9, "there is no unit of time \"days\": there are ms, s, m, h",
     "delay: 5days\n        ^ error found here"},
    {"GET /x\n[Options]\ndelay: soon\n", PL_INPUT, 3, 8, "a duration should stand here: a whole number with ms, s, m or h",
     "delay: soon\n       ^ error found here"},
    {"GET /x\n[Options]\nmax-time: 9999999999h\n", PL_INPUT, 3, 11, "the duration is too long",
     "max-time: 9999999999h\n          ^ error found here"},
    {"GET /x\n[Options]\nretry: 99999999999999999999\n", PL_INPUT, 3, 8, "the number does not fit 64 bits",
     "retry: 99999999999999999999\n       ^ error found here"},
    {"GET /x\n[Options]\nskip: 1\n", PL_INPUT, 3, 7, "true or false should stand here",
     "skip: 1\n      ^ error found here"},
    {"GET /x\n[Options]\nskip: {{flga}}\n", PL_INPUT, 3, 9,
     "nothing sets the variable \"flga\" before it is used here: did you mean \"flag\"?",
     "skip: {{flga}}\n        ^ error found here"},
    {"GET /x\n[Options]\nvariable: x\n", PL_INPUT, 3, 12, "a variable is set as \"variable: name=value\"",
     "variable: x\n           ^ error found here"},
    {"GET /x\n[Options]\nvariable: =x\n", PL_INPUT, 3, 11, "the name of a variable is missing",
     "variable: =x\n          ^ error found here"},
    {"GET /x\n[Options]\nvariable: newUuid=x\n", PL_INPUT, 3, 11,
     "\"newUuid\" is a function: no variable may have its name", "variable: newUuid=x\n          ^ error found here"},
    {"GET /x\n[Options]\nvariable: x={{y}}\nvariable: y=1\n", PL_INPUT, 3, 15,
     "nothing sets the variable \"y\" before it is used here", "variable: x={{y}}\n              ^ error found here"},
    {"GET /x\n[Options]\nvariable: x=\"open\n", PL_INPUT, 3, 13, "the string that begins here does not end on its line",
     "variable: x=\"open\n            ^ error found here"},
    {"GET /x\n[Options]\nvariable: x=\\u{0}\n", PL_INPUT, 3, 13, "the value of a variable holds no NUL",
     "variable: x=\\u{0}\n            ^ error found here"},
    {"GET /x\n[Options]\nheader: nothing\n", PL_INPUT, 3, 9, "a header is written as \"header: Name: value\"",
     "header: nothing\n        ^ error found here"},
    {"GET /x\n[Options]\nheader: a b: c\n", PL_INPUT, 3, 9,
     "the name of a header consists of letters, digits and !#$%&'*+-.^_`|~", "header: a b: c\n        ^ error found here"},
    {"GET /x\n[Options]\nunix-socket:\n", PL_INPUT, 3, 13, "the path of a socket is missing",
     "unix-socket:\n            ^ error found here"},
    {"GET /x\n[Options]\nunix-socket: {{user}}\n", PL_INPUT, 3, 14,
     "the path of a socket may not hold a variable: it must be known before the load begins",
     "unix-socket: {{user}}\n             ^ error found here"},
    {"GET /x\n[Options]\nverbosity: loud\n", PL_INPUT, 3, 12, "brief, verbose or debug should stand here",
     "verbosity: loud\n           ^ error found here"},
    {"GET /x\nHTTP\n", PL_INPUT, 2, 5, "the status is missing: a number, or * for any", "HTTP\n    ^ error found here"},
    {"GET /x\nHTTP OK\n", PL_INPUT, 2, 6, "the status is missing: a number, or * for any",
     "HTTP OK\n     ^ error found here"},
    {"GET /x\nHTTP 20\n", PL_INPUT, 2, 6, "a status is a number from 100 to 999", "HTTP 20\n     ^ error found here"},
    {"GET /x\nHTTP 200 OK\n", PL_INPUT, 2, 10, "\"OK\" is too much: the line should end here",
     "HTTP 200 OK\n         ^ error found here"},
    {"GET /x\nHTTP/3 200\n", PL_INPUT, 2, 6, "HTTP/3 is not supported: HTTP/1.0, HTTP/1.1 and HTTP/2 are, and HTTP for any",
     "HTTP/3 200\n     ^ error found here"},
    {"GET /x\nHTTP/1.2 200\n", PL_INPUT, 2, 6, "there is no such version: HTTP/1.0, HTTP/1.1, HTTP/2, or HTTP for any",
     "HTTP/1.2 200\n     ^ error found here"},
    {"GET /x\nHTTP/1.1\n", PL_INPUT, 2, 9, "the status is missing: a number, or * for any",
     "HTTP/1.1\n        ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nxpath \"//a\" == 1\n", PL_INPUT, 4, 1,
     "the query \"xpath\" is not supported: bodies are not read as HTML or XML; \"regex\" or \"body contains\" may do",
     "xpath \"//a\" == 1\n^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody xpath \"//a\" == 1\n", PL_INPUT, 4, 6,
     "the filter \"xpath\" is not supported: bodies are not read as HTML or XML; \"regex\" may do",
     "body xpath \"//a\" == 1\n     ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatuss == 200\n", PL_INPUT, 4, 1,
     "there is no query \"statuss\": did you mean \"status\"?", "statuss == 200\n^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nwhatever == 200\n", PL_INPUT, 4, 1,
     "there is no query \"whatever\": there are body, bytes, certificate, cookie, duration, header, ip, jsonpath, md5, "
     "rawbytes, redirects, regex, sha256, status, url, variable, version",
     "whatever == 200\n^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus\n", PL_INPUT, 4, 7,
     "a predicate is missing: == ..., contains \"...\", exists, ...", "status\n      ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus not\n", PL_INPUT, 4, 11,
     "a predicate is missing: == ..., contains \"...\", exists, ...", "status not\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus = 200\n", PL_INPUT, 4, 8, "there is no filter or predicate \"=\"",
     "status = 200\n       ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus==200\n", PL_INPUT, 4, 7, "a blank is missing before the predicate",
     "status==200\n      ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus ==\n", PL_INPUT, 4, 10,
     "a value is missing: \"text\", a number, true, false, null, {{variable}}, hex,...;",
     "status ==\n         ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus == OK\n", PL_INPUT, 4, 11,
     "a value is missing: \"text\", a number, true, false, null, {{variable}}, hex,...;",
     "status == OK\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus == 200 201\n", PL_INPUT, 4, 15, "\"201\" is too much: the line should end here",
     "status == 200 201\n              ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus == 1.2.3\n", PL_INPUT, 4, 11, "this is no number: 1.2.3",
     "status == 1.2.3\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nstatus > true\n", PL_INPUT, 4, 10, "only numbers and texts have an order",
     "status > true\n         ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody startsWith 5\n", PL_INPUT, 4, 17,
     "a text in quotes or bytes (hex,...; base64,...; file,...;) should stand here",
     "body startsWith 5\n                ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody contain \"x\"\n", PL_INPUT, 4, 6,
     "there is no filter or predicate \"contain\": did you mean \"contains\"?",
     "body contain \"x\"\n     ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody not cuont\n", PL_INPUT, 4, 10, "there is no predicate \"cuont\"",
     "body not cuont\n         ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody == /x/\n", PL_INPUT, 4, 9, "a regular expression goes with \"matches\"",
     "body == /x/\n        ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody matches /(/\n", PL_INPUT, 4, 16,
     "the regular expression is wrong: missing closing parenthesis", "body matches /(/\n               ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody matches /a\n", PL_INPUT, 4, 14,
     "the regular expression that begins here does not end on its line",
     "body matches /a\n             ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody matches x\n", PL_INPUT, 4, 14, "a regular expression is missing: /.../ or \"...\"",
     "body matches x\n             ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody matches \"\\d\"\n", PL_INPUT, 4, 15,
     "there is no such escape: a backslash itself is written \\\\",
     "body matches \"\\d\"\n              ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nregex /abc/ == \"x\"\n", PL_INPUT, 4, 7,
     "the regular expression has no group: what is in ( ) is taken", "regex /abc/ == \"x\"\n      ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nheader X == \"x\"\n", PL_INPUT, 4, 8, "a string in quotes is missing",
     "header X == \"x\"\n       ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nheader\"X\" == \"x\"\n", PL_INPUT, 4, 7,
     "a blank is missing before the argument of the query", "header\"X\" == \"x\"\n      ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nheader \"X == 5\n", PL_INPUT, 4, 8,
     "the string that begins here does not end on its line", "header \"X == 5\n       ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\ncookie \"a[Expire]\" exists\n", PL_INPUT, 4, 11,
     "a cookie has no attribute \"Expire\": did you mean \"Expires\"?",
     "cookie \"a[Expire]\" exists\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\ncookie \"a[Whatever]\" exists\n", PL_INPUT, 4, 11,
     "a cookie has no attribute \"Whatever\"", "cookie \"a[Whatever]\" exists\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\ncertificate \"Subjekt\" exists\n", PL_INPUT, 4, 14,
     "there is no certificate field \"Subjekt\": did you mean \"Subject\"?",
     "certificate \"Subjekt\" exists\n             ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\ncertificate \"Value\" exists\n", PL_INPUT, 4, 14,
     "the certificate field \"Value\" is not supported: of a certificate subject, issuer, dates and serial number are kept",
     "certificate \"Value\" exists\n             ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nvariable \"{{user}}\" exists\n", PL_INPUT, 4, 10,
     "the name of a variable may not hold a variable: it must be known before the load begins",
     "variable \"{{user}}\" exists\n         ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\njsonpath \"$.[\" exists\n", PL_INPUT, 4, 14,
     "the JSONPath is wrong: an index is due here", "jsonpath \"$.[\" exists\n             ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\njsonpath \"$.a\" nth {{count}} exists\n", PL_INPUT, 4, 20,
     "a variable as the index of \"nth\" is not supported: write a number",
     "jsonpath \"$.a\" nth {{count}} exists\n                   ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\njsonpath \"$.a\" nth one exists\n", PL_INPUT, 4, 20, "a whole number is missing",
     "jsonpath \"$.a\" nth one exists\n                   ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\njsonpath \"$.a\" == {{later}}\n", PL_INPUT, 4, 21,
     "nothing sets the variable \"later\" before it is used here",
     "jsonpath \"$.a\" == {{later}}\n                    ^ error found here"},
    {"GET /x\nHTTP 200\n[Asserts]\nbody == ```graphql\n{a}\n```\n", PL_INPUT, 4, 9,
     "a GraphQL query is no value to compare with", "body == ```graphql\n        ^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\na: status == 200\n", PL_INPUT, 4, 11,
     "a capture has no predicate: that belongs into [Asserts]", "a: status == 200\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\na: status redacted\n", PL_INPUT, 4, 11,
     "there is no \"redacted\" here: did you mean \"redact\"?", "a: status redacted\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\na: status frist\n", PL_INPUT, 4, 11,
     "there is no filter \"frist\": did you mean \"first\"?", "a: status frist\n          ^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\na: status, b\n", PL_INPUT, 4, 10, "a blank is missing before what follows",
     "a: status, b\n         ^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\n{{user}}: status\n", PL_INPUT, 4, 1, "the name of a capture may not hold a variable",
     "{{user}}: status\n^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\na.b: status\n", PL_INPUT, 4, 1,
     "the name of a variable consists of letters, digits, _ and -", "a.b: status\n^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\nnewDate: status\n", PL_INPUT, 4, 1,
     "\"newDate\" is a function: no variable may have its name", "newDate: status\n^ error found here"},
    {"GET /x\nHTTP 200\n[Captures]\na:\n", PL_INPUT, 4, 3,
     "a query is missing: status, header \"...\", jsonpath \"...\", body, ...", "a:\n  ^ error found here"},
    {"POST /x\n{\"a\": }\n", PL_INPUT, 2, 7, "a JSON value is missing", "{\"a\": }\n      ^ error found here"},
    {"POST /x\n{\"a\" 1}\n", PL_INPUT, 2, 6, "\":\" is missing after the name of the member",
     "{\"a\" 1}\n     ^ error found here"},
    {"POST /x\n{a: 1}\n", PL_INPUT, 2, 2, "a member of a JSON object should begin here: \"name\": value",
     "{a: 1}\n ^ error found here"},
    {"POST /x\n{\"a\": 1,}\n", PL_INPUT, 2, 8, "the comma before \"}\" is too much",
     "{\"a\": 1,}\n       ^ error found here"},
    {"POST /x\n[1, 2\n", PL_INPUT, 2, 1, "the JSON list that begins here does not end", "[1, 2\n^ error found here"},
    {"POST /x\n[1 2]\n", PL_INPUT, 2, 4, "\",\" or \"]\" is missing", "[1 2]\n   ^ error found here"},
    {"POST /x\n[1, 2,]\n", PL_INPUT, 2, 6, "the comma before \"]\" is too much", "[1, 2,]\n     ^ error found here"},
    {"POST /x\n{\"a\": tru}\n", PL_INPUT, 2, 7, "a JSON value is missing", "{\"a\": tru}\n      ^ error found here"},
    {"POST /x\n{\"a\": 01}\n", PL_INPUT, 2, 7, "a JSON number begins with no 0", "{\"a\": 01}\n      ^ error found here"},
    {"POST /x\n{\"a\": 1.}\n", PL_INPUT, 2, 9, "a digit is missing", "{\"a\": 1.}\n        ^ error found here"},
    {"POST /x\n{\"a\": -}\n", PL_INPUT, 2, 8, "a digit is missing", "{\"a\": -}\n       ^ error found here"},
    {"POST /x\n{\"a\": \"b\n\"}\n", PL_INPUT, 2, 7, "the string that begins here does not end on its line",
     "{\"a\": \"b\n      ^ error found here"},
    {"POST /x\n{\"a\": \"b\\q\"}\n", PL_INPUT, 2, 9, "JSON has no such escape: a backslash itself is written \\\\",
     "{\"a\": \"b\\q\"}\n        ^ error found here"},
    {"POST /x\n{\"a\": \"\\u12\"}\n", PL_INPUT, 2, 8, "\\u needs four hexadecimal digits in JSON",
     "{\"a\": \"\\u12\"}\n       ^ error found here"},
    {"POST /x\n{\"a\": \"a\tb\"}\n", PL_INPUT, 2, 9, "JSON holds no control characters: a tab is written \\t",
     "{\"a\": \"a\tb\"}\n        ^ error found here"},
    {"POST /x\n{\"a\": {{nope}}}\n", PL_INPUT, 2, 9, "nothing sets the variable \"nope\" before it is used here",
     "{\"a\": {{nope}}}\n        ^ error found here"},
    {"POST /x\n{\"a\": 1} x\n", PL_INPUT, 2, 10, "\"x\" is too much: the line should end here",
     "{\"a\": 1} x\n         ^ error found here"},
    {"POST /x\n<a><b></a>\n", PL_INPUT, 2, 7, "</b> should close the element that is open",
     "<a><b></a>\n      ^ error found here"},
    {"POST /x\n<a>\n", PL_INPUT, 2, 1, "the XML element that begins here does not end", "<a>\n^ error found here"},
    {"POST /x\n<a b=c/>\n", PL_INPUT, 2, 6, "the value of an attribute stands in quotes",
     "<a b=c/>\n     ^ error found here"},
    {"POST /x\n<a b/>\n", PL_INPUT, 2, 5, "\"=\" is missing after the name of the attribute",
     "<a b/>\n    ^ error found here"},
    {"POST /x\n<a b=\"c/>\n", PL_INPUT, 2, 6, "the value that begins here does not end",
     "<a b=\"c/>\n     ^ error found here"},
    {"POST /x\n</a>\n", PL_INPUT, 2, 1, "no element is open that this closes", "</a>\n^ error found here"},
    {"POST /x\n<a <b/>\n", PL_INPUT, 2, 4, "an attribute, \">\" or \"/>\" should stand here",
     "<a <b/>\n   ^ error found here"},
    {"POST /x\n<!-- never\n", PL_INPUT, 2, 1, "the XML comment that begins here does not end",
     "<!-- never\n^ error found here"},
    {"POST /x\n<?xml version=\"1.0\"?>\nGET /\n", PL_INPUT, 3, 1, "an XML element should stand here",
     "GET /\n^ error found here"},
    {"POST /x\n<!DOCTYPE a [\n", PL_INPUT, 2, 1, "the XML declaration that begins here does not end",
     "<!DOCTYPE a [\n^ error found here"},
    {"POST /x\n<>\n", PL_INPUT, 2, 1, "the name of an XML element is missing", "<>\n^ error found here"},
    {"POST /x\n```\nabc\n", PL_INPUT, 2, 1, "the text that begins here does not end: ``` is missing",
     "```\n^ error found here"},
    {"POST /x\n```jsn\nabc\n```\n", PL_INPUT, 2, 4, "there is no hint \"jsn\": did you mean \"json\"?",
     "```jsn\n   ^ error found here"},
    {"POST /x\n```json x\nabc\n```\n", PL_INPUT, 2, 9, "\"x\" is too much: the line should end here",
     "```json x\n        ^ error found here"},
    {"POST /x\n```hex\n0g\n```\n", PL_INPUT, 3, 2, "an odd number of hexadecimal digits: a byte has two",
     "0g\n ^ error found here"},
    {"POST /x\n```hex\n000\n```\n", PL_INPUT, 3, 4, "an odd number of hexadecimal digits: a byte has two",
     "000\n   ^ error found here"},
    {"POST /x\n```base64\nA\n```\n", PL_INPUT, 3, 2, "this is no base64: a digit is missing or too much",
     "A\n ^ error found here"},
    {"POST /x\n```base64\n!!\n```\n", PL_INPUT, 3, 1, "this is no base64", "!!\n^ error found here"},
    {"POST /x\n```hex\n00\n", PL_INPUT, 2, 1, "the text that begins here does not end: ``` is missing",
     "```hex\n^ error found here"},
    {"POST /x\n```graphql\n{a}\nvariables\n```\n", PL_INPUT, 4, 10, "a JSON object should follow \"variables\"",
     "variables\n         ^ error found here"},
    {"POST /x\n```graphql\n{a}\nvariables {\"a\": 1} b\n```\n", PL_INPUT, 4, 20, "``` should follow the variables",
     "variables {\"a\": 1} b\n                   ^ error found here"},
    {"POST /x\n`open\n", PL_INPUT, 2, 1, "the string that begins here does not end on its line",
     "`open\n^ error found here"},
    {"POST /x\nhex,0;\n", PL_INPUT, 2, 6, "an odd number of hexadecimal digits: a byte has two",
     "hex,0;\n     ^ error found here"},
    {"POST /x\nhex,00\n", PL_INPUT, 2, 7, "\";\" is missing at the end of the bytes", "hex,00\n      ^ error found here"},
    {"POST /x\nhex,xx;\n", PL_INPUT, 2, 5, "\";\" is missing at the end of the bytes", "hex,xx;\n    ^ error found here"},
    {"POST /x\nbase64,AA==\n", PL_INPUT, 2, 12, "\";\" is missing at the end of the bytes",
     "base64,AA==\n           ^ error found here"},
    {"POST /x\nfile,missing.txt;\n", PL_NOT_FOUND, 2, 6,
     "the file \"missing.txt\" cannot be read: No such file or directory", "file,missing.txt;\n     ^ error found here"},
    {"POST /x\nfile,;\n", PL_INPUT, 2, 6, "the name of a file is missing", "file,;\n     ^ error found here"},
    {"POST /x\nfile,/etc/passwd;\n", PL_INPUT, 2, 6, "a file is named relative to the folder of its script",
     "file,/etc/passwd;\n     ^ error found here"},
    {"POST /x\nfile,../x;\n", PL_INPUT, 2, 6, "\"..\" leads out of the folder of the script",
     "file,../x;\n     ^ error found here"},
    {"POST /x\nfile,a/../../x;\n", PL_INPUT, 2, 6, "\"..\" leads out of the folder of the script",
     "file,a/../../x;\n     ^ error found here"},
    {"POST /x\nfile,{{user}}.txt;\n", PL_INPUT, 2, 6,
     "the name of a file may not hold a variable: it must be known before the load begins",
     "file,{{user}}.txt;\n     ^ error found here"},
    {"POST /x\nfile,hello.txt\n", PL_INPUT, 2, 15,
     "\";\" is missing after the name of the file; blanks in it are written \"\\ \"",
     "file,hello.txt\n              ^ error found here"},
    {"POST /x\nfile,with space.txt;\n", PL_NOT_FOUND, 2, 6, "the file \"with\" cannot be read: No such file or directory",
     "file,with space.txt;\n     ^ error found here"},
    {"POST /x\n[Form]\na: 1\n{\"b\": 1}\n", PL_INPUT, 1, 1,
     "a request has one body: [Form], [Multipart], or a body of its own", "POST /x\n^ error found here"},
    {"POST /x\n[Form]\na: 1\n[Multipart]\nb: 1\n", PL_INPUT, 1, 1,
     "a request has one body: [Form], [Multipart], or a body of its own", "POST /x\n^ error found here"},
    {"POST /x\n[Multipart]\na: file,missing;\n", PL_NOT_FOUND, 3, 9,
     "the file \"missing\" cannot be read: No such file or directory", "a: file,missing;\n        ^ error found here"},
    {"GET /ok\n\n\nGET /x\n   X: {{usr}}\n", PL_INPUT, 5, 9,
     "nothing sets the variable \"usr\" before it is used here: did you mean \"user\"?",
     "   X: {{usr}}\n        ^ error found here"},
    {"GET /ü{{usr}}\n", PL_INPUT, 1, 10, "nothing sets the variable \"usr\" before it is used here: did you mean \"user\"?",
     "GET /ü{{usr}}\n        ^ error found here"},
    {"GET /x\n\tX:\t{{usr}}\n", PL_INPUT, 2, 7,
     "nothing sets the variable \"usr\" before it is used here: did you mean \"user\"?",
     "\tX:\t{{usr}}\n\t  \t  ^ error found here"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        const struct bad_file *bad = &bad_files[i];
        struct pl_err err = {0};
        struct program *program = NULL;
        struct names *given = names_new(arena);
        for (size_t k = 0; k < COUNT(parse_given); k++)
            names_predefine(given, parse_given[k]);
        enum pl_code code =
            hurl_compile("t.hurl", bad->text, strlen(bad->text), PARSE_ROOT "/data", given, arena, &program, &err);
        if (code != bad->code || code != err.code)
            fail_msg("\"%s\": %s", bad->text, pl_code_name(code));
        assert_null(program);
        assert_string_equal(err.what, bad->what);
        assert_string_equal(err.hint, bad->hint);
        assert_string_equal(err.file, "t.hurl");
        if (err.line != bad->line || err.col != bad->col)
            fail_msg("\"%s\": %d:%d", bad->text, err.line, err.col);
    }
}

/* At least sixty kinds: no two with the same words. */
static void test_kinds(void **state)
{
    (void)state;
    size_t kinds = 0;
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && strcmp(bad_files[i].what, bad_files[j].what) != 0;
        kinds += is_new;
    }
    assert_true(kinds >= 120);
}

/* Every word that Hurl has and this has not is refused by name. */
static void test_refused_words(void **state)
{
    (void)state;
    static const struct {
        const struct parse_words *words;
        const char *before, *after;
        int line;
    } uses[] = {{&parse_options, "GET /\n[Options]\n", ": x\n", 3},
                {&parse_queries, "GET /\nHTTP 200\n[Asserts]\n", " \"x\" exists\n", 4},
                {&parse_filters, "GET /\nHTTP 200\n[Asserts]\nbody ", " \"x\" exists\n", 4}};
    size_t count = 0;
    for (size_t u = 0; u < COUNT(uses); u++)
        for (size_t i = 0; i < uses[u].words->count; i++) {
            const struct parse_word *word = &uses[u].words->list[i];
            if (word->refused == NULL)
                continue;
            const char *text = pl_format(arena, "%s%s%s", uses[u].before, word->name, uses[u].after);
            const char *expected =
                pl_format(arena, "the %s \"%s\" is not supported: %s", uses[u].words->what, word->name, word->refused);
            const char *colon = strstr(refusal(text), ": ");
            assert_string_equal(colon + 2, expected);
            count++;
        }
    assert_int_equal(count, 23);
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *what;
        int line, col;
    } cases[] = {{"GET /\0x", 7, "byte 5 is NUL: this is not a text file", 0, 0},
                 {"GET /\nA: \xff\n", 11, "byte 0xff is not UTF-8", 2, 4},
                 {"GET /\nA: \xc3", 10, "byte 0xc3 is not UTF-8", 2, 4},
                 {"GET /\nA: \xed\xa0\x80\n", 13, "byte 0xed is not UTF-8", 2, 4}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pl_err err = {0};
        struct program *program = NULL;
        assert_int_equal(hurl_compile("t.hurl", cases[i].text, cases[i].length, NULL, names, arena, &program, &err),
                         PL_INPUT);
        assert_string_equal(err.what, cases[i].what);
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.col, cases[i].col);
    }
}

/* A hint controls no terminal. */
static void test_control_characters(void **state)
{
    (void)state;
    struct pl_err err = {0};
    struct program *program = NULL;
    const char *text = "GET /\n\x1b[31mred\x07\n";
    assert_int_equal(hurl_compile("t.hurl", text, strlen(text), NULL, names, arena, &program, &err), PL_INPUT);
    assert_string_equal(err.hint, "?[31mred?\n^ error found here");
    assert_null(strchr(err.what, '\x1b'));
}

static void test_limits(void **state)
{
    (void)state;
    struct pl_err err = {0};
    struct program *program = NULL;
    char *text = pl_alloc(arena, PL_MAX_SCRIPT_BYTES + 2, 1);
    memset(text, '#', PL_MAX_SCRIPT_BYTES + 1);
    assert_int_equal(hurl_compile("t.hurl", text, PL_MAX_SCRIPT_BYTES + 1, NULL, names, arena, &program, &err), PL_LIMIT);
    for (size_t i = 0; i <= PL_MAX_STEPS; i++)
        memcpy(text + 6 * i, "GET /\n", 6);
    err = (struct pl_err){0};
    assert_int_equal(hurl_compile("t.hurl", text, 6 * (size_t)PL_MAX_STEPS, NULL, names, arena, &program, &err), PL_OK);
    assert_int_equal(program->io_step_count, PL_MAX_STEPS);
    program = NULL;
    assert_int_equal(hurl_compile("t.hurl", text, 6 * (size_t)(PL_MAX_STEPS + 1), NULL, names, arena, &program, &err),
                     PL_LIMIT);
    assert_int_equal(err.line, PL_MAX_STEPS + 1);
    size_t length = (size_t)sprintf(text, "GET /\n[Options]\n");
    for (int i = 0; i < PL_MAX_VARIABLES; i++)
        length += (size_t)sprintf(text + length, "variable: v%d=1\n", i);
    err = (struct pl_err){0};
    assert_int_equal(hurl_compile("t.hurl", text, length, NULL, names, arena, &program, &err), PL_LIMIT);
    assert_string_equal(err.what, "more than 4096 variables");
}

/* Bodies may be nested so deep and no deeper. */
static void test_depth(void **state)
{
    (void)state;
    enum { ROOM = 10000 };
    static const struct {
        const char *open, *close, *what;
    } kinds[] = {{"[", "]", "the JSON is more than 256 levels deep"},
                 {"<a>", "</a>", "the XML is more than 256 levels deep"}};
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int depth = PARSE_DEPTH_MOST; depth <= PARSE_DEPTH_MOST + 1; depth++) {
            char text[ROOM] = "POST /\n";
            for (int i = 0; i < depth; i++)
                strcat(text, kinds[k].open);
            for (int i = 0; i < depth; i++)
                strcat(text, kinds[k].close);
            if (depth == PARSE_DEPTH_MOST)
                compile(text);
            else
                assert_string_equal(strstr(refusal(text), ": ") + 2, kinds[k].what);
        }
}

/* A line that is too long to show is cut on both sides of the place. */
static void test_long_line(void **state)
{
    (void)state;
    enum { LONG = 100000, PLACE = 50000 };
    char *text = pl_alloc(arena, LONG + 1, 1);
    memset(text, 'a', LONG);
    memcpy(text, "GET /", 5);
    text[PLACE] = ' ';
    struct pl_err err = {0};
    struct program *program = NULL;
    assert_int_equal(hurl_compile("t.hurl", text, LONG, NULL, names, arena, &program, &err), PL_INPUT);
    assert_int_equal(err.col, PLACE + 1);
    const char *newline = strchr(err.hint, '\n'), *caret = strchr(err.hint, '^');
    assert_non_null(newline);
    assert_non_null(caret);
    assert_true(newline - err.hint < 1000);
    assert_int_equal(err.hint[caret - newline - 1], ' ');
    assert_int_equal(err.hint[caret - newline - 2], 'a');
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_errors),
                                       PARSE_TEST(test_kinds),
                                       PARSE_TEST(test_refused_words),
                                       PARSE_TEST(test_bytes),
                                       PARSE_TEST(test_control_characters),
                                       PARSE_TEST(test_limits),
                                       PARSE_TEST(test_depth),
                                       PARSE_TEST(test_long_line)};
    return cmocka_run_group_tests_name("bad", tests, NULL, NULL);
}
