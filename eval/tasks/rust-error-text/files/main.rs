/// Doubles a number that is written as text.
fn double(text: &str) -> Result<i64, String> {
    let number: i64 = text.trim().parse().map_err(|_| "bad input".to_string())?;
    number.checked_mul(2).ok_or_else(|| "too large".to_string())
}

fn main() {
    for word in std::env::args().skip(1) {
        match double(&word) {
            Ok(number) => println!("{number}"),
            Err(problem) => println!("error: {problem}"),
        }
    }
}
