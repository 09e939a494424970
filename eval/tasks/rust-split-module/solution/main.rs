mod geometry;

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [width, height] = numbers[..] else {
        eprintln!("usage: program WIDTH HEIGHT");
        std::process::exit(2);
    };
    println!("area {}", geometry::area(width, height));
    println!("perimeter {}", geometry::perimeter(width, height));
}
