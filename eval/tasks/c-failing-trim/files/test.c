#include "trim.h"
#include <assert.h>
#include <string.h>

static void check(const char *before, const char *after) {
    char text[32];
    strcpy(text, before);
    trim(text);
    assert(strcmp(text, after) == 0);
}

int main(void) {
    check("plain", "plain");
    check("  before", "before");
    check("after  ", "after");
    check("   ", "");
    return 0;
}
