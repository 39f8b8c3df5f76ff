/* Searches: a table of paths with what they find, worked out by hand, and what hostile documents cost. */
#include "json_test.h"

#include "base/rng.h"

static const char store[] =
    "{\"store\":{\"book\":["
    "{\"category\":\"reference\",\"author\":\"Nigel Rees\",\"title\":\"Sayings\",\"price\":8.95},"
    "{\"category\":\"fiction\",\"author\":\"Evelyn Waugh\",\"title\":\"Sword\",\"price\":12.99},"
    "{\"category\":\"fiction\",\"author\":\"Herman Melville\",\"title\":\"Moby Dick\",\"isbn\":\"0-553\",\"price\":8.99},"
    "{\"category\":\"fiction\",\"author\":\"J. R. R. Tolkien\",\"title\":\"Rings\",\"isbn\":\"0-395\",\"price\":22.99}],"
    "\"bicycle\":{\"color\":\"red\",\"price\":19.95}},\"limit\":10}";
static const char odd[] =
    "{\"\":0,\"a b\":1,\"a.b\":2,\"1\":3,\"x-y\":4,\"\\u00e9\":5,\"q\\\"q\":6,\"'\":7,\"\xe4\xbd\xa0\":8,"
    "\"null\":9,\"\\\\\":10}";
static const char letters[] = "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\"]";
static const char mixed[] = "[1,2.5,\"x\",null,true,false,[1,[2]],{\"a\":null},{\"a\":0},{\"a\":\"\"},{},[]]";
static const char people[] =
    "[{\"n\":\"ann\",\"age\":30,\"tags\":[\"x\",\"y\"],\"m\":{\"v\":1}},{\"n\":\"bob\",\"age\":25,"
    "\"tags\":[],\"m\":{\"v\":2}},{\"n\":\"cid\",\"tags\":[\"y\"]},{\"n\":\"\\u0064ee\",\"age\":\"30\"}]";
static const char nested[] = "{\"o\":{\"j\":1,\"k\":2},\"a\":[5,3,[{\"j\":4},{\"k\":6}]]}";

static const struct found {
    const char *document, *path, *found;
} founds[] = {
    /* names and indexes: one value or none */
    {store, "$.limit", "10"},
    {store, "$['limit']", "10"},
    {store, "$[\"limit\"]", "10"},
    {store, "$.store.bicycle.color", "\"red\""},
    {store, "$['store']['bicycle']['price']", "19.95"},
    {store, "$.store.book[0].title", "\"Sayings\""},
    {store, "$.store.book[3].author", "\"J. R. R. Tolkien\""},
    {store, "$.store.book[-1].title", "\"Rings\""},
    {store, "$.store.book[-4].title", "\"Sayings\""},
    {store, "$.store.book[4]", "nothing"},
    {store, "$.store.book[-5]", "nothing"},
    {store, "$.store.book[0].isbn", "nothing"},
    {store, "$.nothing", "nothing"},
    {store, "$.store.book.title", "nothing"},
    {store, "$.limit.more", "nothing"},
    {store, "$.limit[0]", "nothing"},
    {store, "$.store[0]", "nothing"},
    {store, "$ .limit", "10"},
    {"12", "$", "12"},
    {"[]", "$", "[]"},
    {"{\"a\":1,\"a\":2}", "$.a", "2"},
    /* names of every kind */
    {odd, "$['']", "0"},
    {odd, "$['a b']", "1"},
    {odd, "$['a.b']", "2"},
    {odd, "$.1", "3"},
    {odd, "$['1']", "3"},
    {odd, "$[1]", "nothing"},
    {odd, "$.x-y", "4"},
    {odd, "$.\xc3\xa9", "5"},
    {odd, "$['\\u00e9']", "5"},
    {odd, "$['q\"q']", "6"},
    {odd, "$[\"q\\\"q\"]", "6"},
    {odd, "$['\\'']", "7"},
    {odd, "$[\"'\"]", "7"},
    {odd, "$.\xe4\xbd\xa0", "8"},
    {odd, "$.null", "9"},
    {odd, "$['\\\\']", "10"},
    {odd, "$.['a b']", "1"},
    /* wildcards */
    {store, "$.store.book[*].author", "[\"Nigel Rees\",\"Evelyn Waugh\",\"Herman Melville\",\"J. R. R. Tolkien\""},
    {store, "$.store.book.*.price", "[8.95,12.99,8.99,22.99"},
    {store, "$.store.bicycle.*", "[\"red\",19.95"},
    {store, "$.store.bicycle[*]", "[\"red\",19.95"},
    {store, "$.store.book[*].isbn", "[\"0-553\",\"0-395\""},
    {store, "$.store.book[*].none", "["},
    {store, "$.none[*].id", "nothing"},
    {store, "$.limit.*", "["},
    {"[]", "$[*]", "["},
    {"{}", "$.*", "["},
    {letters, "$.*", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\""},
    /* below all */
    {store, "$..author", "[\"Nigel Rees\",\"Evelyn Waugh\",\"Herman Melville\",\"J. R. R. Tolkien\""},
    {store, "$.store..price", "[8.95,12.99,8.99,22.99,19.95"},
    {store, "$..book[2].title", "[\"Moby Dick\""},
    {store, "$..book[-1].title", "[\"Rings\""},
    {store, "$..['color']", "[\"red\""},
    {nested, "$..j", "[1,4"},
    {nested, "$..[0]", "[5,{\"j\":4}"},
    {nested, "$..[*]",
     "[{\"j\":1,\"k\":2},[5,3,[{\"j\":4},{\"k\":6}]],1,2,5,3,[{\"j\":4},{\"k\":6}],{\"j\":4},{\"k\":6},4,6"},
    {nested, "$..*",
     "[{\"j\":1,\"k\":2},[5,3,[{\"j\":4},{\"k\":6}]],1,2,5,3,[{\"j\":4},{\"k\":6}],{\"j\":4},{\"k\":6},4,6"},
    {nested, "$.a..[0, 1]", "[5,3,{\"j\":4},{\"k\":6}"},
    {nested, "$..o", "[{\"j\":1,\"k\":2}"},
    {"[[[1]]]", "$..[0]..[0]", "[[1],1,1"},
    {"1", "$..a", "["},
    /* unions */
    {letters, "$[0,3]", "[\"a\",\"d\""},
    {letters, "$[3,0,0]", "[\"d\",\"a\",\"a\""},
    {letters, "$[0:2,5]", "[\"a\",\"b\",\"f\""},
    {letters, "$[0, 9, -1]", "[\"a\",\"g\""},
    {nested, "$.o['k','j']", "[2,1"},
    {nested, "$.o['k', *]", "[2,1,2"},
    {nested, "$['o','a'][0]", "[5"},
    /* slices */
    {letters, "$[1:3]", "[\"b\",\"c\""},
    {letters, "$[5:]", "[\"f\",\"g\""},
    {letters, "$[:2]", "[\"a\",\"b\""},
    {letters, "$[:]", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\""},
    {letters, "$[-2:]", "[\"f\",\"g\""},
    {letters, "$[:-5]", "[\"a\",\"b\""},
    {letters, "$[1:5:2]", "[\"b\",\"d\""},
    {letters, "$[::3]", "[\"a\",\"d\",\"g\""},
    {letters, "$[5:1:-2]", "[\"f\",\"d\""},
    {letters, "$[::-1]", "[\"g\",\"f\",\"e\",\"d\",\"c\",\"b\",\"a\""},
    {letters, "$[1::-1]", "[\"b\",\"a\""},
    {letters, "$[:4:-1]", "[\"g\",\"f\""},
    {letters, "$[3:1]", "["},
    {letters, "$[0:0]", "["},
    {letters, "$[1:5:0]", "["},
    {letters, "$[-100:100]", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\""},
    {letters, "$[100:-100:-3]", "[\"g\",\"d\",\"a\""},
    {letters, "$[ 1 : 3 : 1 ]", "[\"b\",\"c\""},
    {nested, "$.o[0:1]", "["},
    /* filters: existence */
    {store, "$..book[?(@.isbn)].title", "[\"Moby Dick\",\"Rings\""},
    {store, "$..book[?@.isbn].title", "[\"Moby Dick\",\"Rings\""},
    {store, "$..book[?(!@.isbn)].title", "[\"Sayings\",\"Sword\""},
    {store, "$.store.book[?(@.none)]", "["},
    {mixed, "$[?(@.a)]", "[{\"a\":null},{\"a\":0},{\"a\":\"\"}"},
    {mixed, "$[?(@[0])]", "[[1,[2]]"},
    {mixed, "$[?(@.*)]", "[[1,[2]],{\"a\":null},{\"a\":0},{\"a\":\"\"}"},
    {people, "$[?(@.tags[1])].n", "[\"ann\""},
    {people, "$[?(@.m.v)].m.v", "[1,2"},
    {people, "$[?(@..v)].n", "[\"ann\",\"bob\""},
    /* filters: comparisons */
    {store, "$.store.book[?(@.price<10)].title", "[\"Sayings\",\"Moby Dick\""},
    {store, "$.store.book[?(@.price < $.limit)].title", "[\"Sayings\",\"Moby Dick\""},
    {store, "$.store.book[?(@.price>12.99)].title", "[\"Rings\""},
    {store, "$.store.book[?(@.price>=12.99)].title", "[\"Sword\",\"Rings\""},
    {store, "$.store.book[?(@.price<=8.95)].title", "[\"Sayings\""},
    {store, "$.store.book[?(@.price==8.99)].title", "[\"Moby Dick\""},
    {store, "$.store.book[?(10>@.price)].title", "[\"Sayings\",\"Moby Dick\""},
    {store, "$.store.book[?(@.category=='fiction')].price", "[12.99,8.99,22.99"},
    {store, "$.store.book[?(@.category!=\"fiction\")].price", "[8.95"},
    {store, "$.store.book[?(@['price'] == 12.99)].title", "[\"Sword\""},
    {store, "$..[?(@.price==19.95)]", "[{\"color\":\"red\",\"price\":19.95}"},
    {store, "$.store[?(@.color)].price", "[19.95"},
    {store, "$.store.book[?(@.author > 'H')].title", "[\"Sayings\",\"Moby Dick\",\"Rings\""},
    {mixed, "$[?(@ > 1)]", "[2.5"},
    {mixed, "$[?(@ == 1)]", "[1"},
    {mixed, "$[?(@ == 'x')]", "[\"x\""},
    {mixed, "$[?(@ == null)]", "[null"},
    {mixed, "$[?(@ == true)]", "[true"},
    {mixed, "$[?(@.a == null)]", "[{\"a\":null}"},
    {mixed, "$[?(@.a == 0)]", "[{\"a\":0}"},
    {mixed, "$[?(@.a == -0.0)]", "[{\"a\":0}"},
    {mixed, "$[?(@.b == @.c)]", "[1,2.5,\"x\",null,true,false,[1,[2]],{\"a\":null},{\"a\":0},{\"a\":\"\"},{},[]"},
    {mixed, "$[?(@.a != 0)]", "[1,2.5,\"x\",null,true,false,[1,[2]],{\"a\":null},{\"a\":\"\"},{},[]"},
    {mixed, "$[?(@[1] == $[6][1])]", "[[1,[2]]"},
    {mixed, "$[?(@ == $[7])]", "[{\"a\":null}"},
    {mixed, "$[?(@ < true)]", "["},
    {mixed, "$[?(@ <= true)]", "[true"},
    {people, "$[?(@.age == 30)].n", "[\"ann\""},
    {people, "$[?(@.age == '30')].n", "[\"\\u0064ee\""},
    {people, "$[?(@.n == 'dee')].age", "[\"30\""},
    {people, "$[?(@.n < 'bob')].n", "[\"ann\""},
    {people, "$[?(@.n >= 'cid')].n", "[\"cid\",\"\\u0064ee\""},
    {people, "$[?(@.age < 1e2)].n", "[\"ann\",\"bob\""},
    {people, "$[?(@.m.v == 2)].n", "[\"bob\""},
    {people, "$[?(@.tags == $[2].tags)].n", "[\"cid\""},
    /* filters: logic */
    {store, "$.store.book[?(@.price<10 && @.isbn)].title", "[\"Moby Dick\""},
    {store, "$.store.book[?(@.price<10 || @.isbn)].title", "[\"Sayings\",\"Moby Dick\",\"Rings\""},
    {store, "$.store.book[?(!(@.price<10) && @.category=='fiction')].title", "[\"Sword\",\"Rings\""},
    {store, "$.store.book[?(@.isbn || @.price>10 && @.price<20)].title", "[\"Sword\",\"Moby Dick\",\"Rings\""},
    {store, "$.store.book[?((@.isbn || @.price>10) && @.price<20)].title", "[\"Sword\",\"Moby Dick\""},
    {store, "$.store.book[?@.price<10&&!@.isbn].title", "[\"Sayings\""},
    {people, "$[?(@.age && !(@.age == 25))].n", "[\"ann\",\"\\u0064ee\""},
    /* filters: in one another, over objects, in unions, functions */
    {people, "$[?(@.tags[?(@ == 'y')])].n", "[\"ann\",\"cid\""},
    {people, "$[?(@.tags[?@ > 'x'])].n", "[\"ann\",\"cid\""},
    {nested, "$.o[?(@ > 1)]", "[2"},
    {letters, "$[?(@ == 'a'), 2]", "[\"a\",\"c\""},
    {people, "$[?(length(@.tags) == 1)].n", "[\"cid\""},
    {people, "$[?(length(@.n) >= 3)].n", "[\"ann\",\"bob\",\"cid\",\"\\u0064ee\""},
    {people, "$[?(length(@) == 2)].n", "[\"cid\",\"\\u0064ee\""},
    {people, "$[?(count(@.tags[*]) > 1)].n", "[\"ann\""},
    {people, "$[?(count(@..*) == 2)].n", "[\"\\u0064ee\""},
    {odd, "$[?(length(@) == 1)]", "["},
};

static void test_table(void **state)
{
    (void)state;
    struct json json = {0};
    for (size_t i = 0; i < COUNT(founds); i++) {
        json_must_read(&json, founds[i].document);
        const char *found = json_found(&json, founds[i].path);
        if (strcmp(found, founds[i].found) != 0)
            fail_msg("%s\nfinds    %s\nexpected %s", founds[i].path, found, founds[i].found);
    }
    json_release(&json);
}

/* A search gives up after a bounded number of steps, and can be used again. */
static void test_bounded(void **state)
{
    (void)state;
    enum { ITEMS = 4000 };
    static const struct {
        const char *path;
        bool is_done;
    } heavy[] = {{"$..*..*..*", true},
                 {"$..[?(count($..*) > 1)]", false},
                 {"$[*][?(count($..*) > 1)]", false},
                 {"$[?(@..[?($[?(@ == 1)])])]", false},
                 {"$[::-1]", false},
                 {"$[?(count($[*]) == count($[*]))]", false}};
    struct json json = {0};
    struct json_search search = {0};
    char *text = pl_alloc(arena, ITEMS * 8 + 300, 1), *at = text;
    *at++ = '[';
    for (int i = 0; i < ITEMS; i++) {
        memcpy(at, i > 0 ? ",[[1]]" : "[[[1]]]", i > 0 ? 6 : 7);
        at += i > 0 ? 6 : 7;
    }
    *at = ']';
    json_must_read(&json, text);
    for (size_t i = 0; i < COUNT(heavy); i++) {
        if (json_path_find(json_must_compile(heavy[i].path), &json, &search) != heavy[i].is_done)
            fail_msg("%s", heavy[i].path);
        assert_true(search.count <= JSON_STEPS_MOST);
        assert_true(json_path_find(json_must_compile("$[7][0][0]"), &json, &search));
        assert_int_equal(search.count, 1);
    }
    json_search_release(&search);
    json_release(&json);
}

/* Looking through long texts counts too, each time. */
static void test_long_texts(void **state)
{
    (void)state;
    enum { LONG = 1000000 };
    static const char *const heavy[] = {"$[?(length($[0]) > 1)]", "$[?($[0] == $[1])]", "$[?($[0] < $[1])]"};
    struct json json = {0};
    struct json_search search = {0};
    char *text = pl_alloc(arena, 2 * LONG + 2000, 1), *at = text;
    memset(text, 'x', 2 * LONG);
    memcpy(text, "[\"", 2);
    memcpy(text + LONG, "\",\"", 3);
    at = text + 2 * LONG + 1; /* two texts of the same length */
    *at++ = '"';
    memset(text + LONG + 3, 'x', LONG - 2);
    for (int i = 0; i < 300; i++, at += 2)
        memcpy(at, ",1", 2);
    *at = ']';
    json_must_read(&json, text);
    assert_int_equal(json.tokens[1].bytes, json.tokens[2].bytes);
    for (size_t i = 0; i < COUNT(heavy); i++)
        assert_false(json_path_find(json_must_compile(heavy[i]), &json, &search));
    assert_true(json_path_find(json_must_compile("$[?(@ == $[1])]"), &json, &search));
    assert_int_equal(search.count, 2);
    json_search_release(&search);
    json_release(&json);
}

/* Names of members are no values: `..` finds each value once. */
static void test_descends_over_values_only(void **state)
{
    (void)state;
    struct json json = {0};
    struct json_search search = {0};
    json_must_read(&json, store);
    size_t values = 0;
    for (size_t i = 0; i < json.count; i++)
        values += !json.tokens[i].is_key;
    assert_true(json_path_find(json_must_compile("$..*"), &json, &search));
    assert_int_equal(search.count, values - 1); /* all but the whole */
    json_search_release(&search);
    json_release(&json);
}

/* A random list sliced in every way is what the definition of RFC 9535 says, item by item. */
static void test_slices(void **state)
{
    (void)state;
    struct pl_rng rng;
    struct json json = {0};
    pl_rng_init(&rng, 3, PL_RNG_TEST, 0);
    for (int round = 0; round < 2000; round++) {
        int64_t length = pl_rng_range(&rng, 0, 6), start = pl_rng_range(&rng, -8, 8), end = pl_rng_range(&rng, -8, 8),
                step = pl_rng_range(&rng, -3, 3);
        const char *text = "[", *expected = "[", *comma = "";
        for (int64_t i = 0; i < length; i++)
            text = pl_format(arena, "%s%s%d", text, i > 0 ? "," : "", (int)i);
        json_must_read(&json, pl_format(arena, "%s]", text));
        int64_t from = start >= 0 ? start : length + start, to = end >= 0 ? end : length + end;
        for (int64_t i = from; step != 0 && (step > 0 ? i < to : i > to) && i >= -20 && i <= 20; i += step) {
            /* bounds first: the walk begins inside the list */
            if (step > 0 && i < 0) {
                i = -step; /* the lower bound is 0 */
                continue;
            }
            if (step < 0 && i >= length) {
                i = length - 1 - step; /* the upper bound is the last */
                continue;
            }
            if (i < 0 || i >= length)
                break;
            expected = pl_format(arena, "%s%s%d", expected, comma, (int)i);
            comma = ",";
        }
        const char *path = pl_format(arena, "$[%d:%d:%d]", (int)start, (int)end, (int)step);
        const char *found = json_found(&json, path);
        if (strcmp(found, expected) != 0)
            fail_msg("%s of %d items finds %s, expected %s", path, (int)length, found, expected);
    }
    json_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_table, json_setup, json_teardown),
        cmocka_unit_test_setup_teardown(test_bounded, json_setup, json_teardown),
        cmocka_unit_test_setup_teardown(test_long_texts, json_setup, json_teardown),
        cmocka_unit_test_setup_teardown(test_descends_over_values_only, json_setup, json_teardown),
        cmocka_unit_test_setup_teardown(test_slices, json_setup, json_teardown),
    };
    return cmocka_run_group_tests_name("find", tests, NULL, NULL);
}
