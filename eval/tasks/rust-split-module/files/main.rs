fn area(width: u32, height: u32) -> u32 {
    width * height
}

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [width, height] = numbers[..] else {
        eprintln!("usage: program WIDTH HEIGHT");
        std::process::exit(2);
    };
    println!("area {}", area(width, height));
}
