/* Removes spaces at both ends of a text, in place. */
void trim(char *text);
