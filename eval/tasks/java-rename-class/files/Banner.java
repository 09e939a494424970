final class Banner {
    private Banner() {}

    static String around(String text) {
        return Util.twice("*") + text + Util.twice("*");
    }
}
