#[path = "stats.rs"]
mod stats;

#[test]
fn the_average_has_a_fraction() {
    assert_eq!(stats::average(&[1, 2]), Some(1.5));
    assert_eq!(stats::average(&[-1, 0, 2]), Some(1.0 / 3.0));
    assert_eq!(stats::average(&[]), None);
    assert_eq!(stats::largest(&[3, 7, 1]), Some(7));
}
