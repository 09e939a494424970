/* Generated from readings.csv. Do not edit. */
#define READINGS 4
static const double readings[READINGS] = {
    20.5,
    21.25,
    -3.0,
    0.0,
};
