/* The program: everything is in the library, so that tests reach it. */
#include "app/app.h"

#include "base/ban.h"

int main(int argc, char **argv)
{
    return app_main(argc, argv);
}
