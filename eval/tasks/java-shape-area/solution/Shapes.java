public class Shapes {
    static double rectangle(double width, double height) {
        return width * height;
    }

    static double square(double side) {
        return rectangle(side, side);
    }

    static double triangle(double base, double height) {
        return base * height / 2;
    }

    public static void main(String[] args) {
        System.out.println("rectangle " + rectangle(2, 3));
        System.out.println("square " + square(3));
        System.out.println("triangle " + triangle(4, 3));
    }
}
