/* Private to src/httpload: figures as people read them. Each returns the buffer. */
#ifndef PL_HTTPLOAD_FIGURES_INT_H
#define PL_HTTPLOAD_FIGURES_INT_H

#include <stddef.h>

enum { HTTPLOAD_FIGURE_BYTES = 40 };

/* Five significant digits and no zeros behind them, as a measurement over seconds has no more; whole thousands apart:
 * "94,522", "2,043.4", "190.33", "200". */
const char *httpload_figure(char *buf, size_t size, double value);

/* The same for programs: nothing between thousands, six digits. */
const char *httpload_figure_plain(char *buf, size_t size, double value);

/* Nanoseconds as milliseconds, for columns: "0.133", "101.71", "1907.4", "31006". */
const char *httpload_figure_ms(char *buf, size_t size, double ns);

/* How many columns of a terminal the text takes, and how many bytes of it fit into so many. UTF-8 without wide characters.
 */
int httpload_columns(const char *text);
size_t httpload_columns_fit(const char *text, int columns);

#endif
