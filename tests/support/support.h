/* What the tests of several rooms share. */
#ifndef PL_TESTS_SUPPORT_H
#define PL_TESTS_SUPPORT_H

/* cmocka wants these four first, in this order */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* |actual - expected| <= abs + rel * |expected|; prints all four when not. */
#define assert_close(actual, expected, rel, abs)                                                                           \
    support_assert_close(actual, expected, rel, abs, #actual, __FILE__, __LINE__)
void support_assert_close(double actual, double expected, double rel, double abs, const char *text, const char *file,
                          int line);

/* Memory that ends right before a page that cannot be read: a read of one byte past it dies. Returns the first of `size`
 * bytes; free with support_guard_free. */
void *support_guard_alloc(size_t size);
void support_guard_free(void *bytes, size_t size);

#endif
