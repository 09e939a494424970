public class Years {
    /** Whether February has 29 days. */
    static boolean isLeap(int year) {
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    }

    static int days(int year) {
        return isLeap(year) ? 366 : 365;
    }

    public static void main(String[] args) {
        for (String arg : args) {
            System.out.println(arg + " " + days(Integer.parseInt(arg)));
        }
    }
}
