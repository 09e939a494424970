//! Small statistics over whole numbers.

/// The arithmetic mean; `None` for no numbers.
pub fn average(numbers: &[i64]) -> Option<f64> {
    if numbers.is_empty() {
        return None;
    }
    let sum: i64 = numbers.iter().sum();
    Some((sum / numbers.len() as i64) as f64)
}

/// The largest number; `None` for no numbers.
pub fn largest(numbers: &[i64]) -> Option<i64> {
    numbers.iter().copied().max()
}

fn main() {
    println!("{:?} {:?}", average(&[1, 2]), largest(&[1, 2]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_has_a_fraction() {
        assert_eq!(average(&[1, 2]), Some(1.5));
        assert_eq!(average(&[2, 2]), Some(2.0));
    }

    #[test]
    fn nothing_has_no_average() {
        assert_eq!(average(&[]), None);
    }
}
