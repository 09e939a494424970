public class Shapes {
    static double rectangle(double width, double height) {
        return width * height;
    }

    static double square(double side) {
        return rectangle(side, side);
    }

    public static void main(String[] args) {
        System.out.println("rectangle " + rectangle(2, 3));
        System.out.println("square " + square(3));
    }
}
