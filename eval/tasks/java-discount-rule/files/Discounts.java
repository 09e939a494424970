final class Discounts {
    private Discounts() {}

    /** Percent for so many pieces. */
    static int forPieces(int pieces) {
        if (pieces >= 100) {
            return 18;
        }
        if (pieces > 30) {
            return 11;
        }
        if (pieces >= 10) {
            return 4;
        }
        return 0;
    }
}
