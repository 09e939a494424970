//! A figure: the samples of one quantity, with its target.

use std::time::Duration;

/// A measured quantity and its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// The upper bound for the median.
    pub(super) target: Option<f64>,
}

impl Quantity {
    /// A time in milliseconds.
    pub(super) const fn ms(name: &'static str, target: f64) -> Self {
        Self { name, unit: "ms", target: Some(target) }
    }

    /// A time in milliseconds without a target.
    pub(super) const fn time(name: &'static str) -> Self {
        Self { name, unit: "ms", target: None }
    }

    /// A percentage.
    pub(super) const fn percent(name: &'static str, target: f64) -> Self {
        Self { name, unit: "%", target: Some(target) }
    }

    /// An amount of memory in MiB.
    pub(super) const fn mib(name: &'static str, target: f64) -> Self {
        Self { name, unit: "MiB", target: Some(target) }
    }

    /// A count without a target.
    pub(super) const fn count(name: &'static str) -> Self {
        Self { name, unit: "", target: None }
    }

    /// A number without a unit.
    pub(super) const fn at_most(name: &'static str, target: f64) -> Self {
        Self { name, unit: "", target: Some(target) }
    }
}

/// The samples of one quantity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) quantity: Quantity,
    samples: Vec<f64>,
}

impl Figure {
    pub(super) fn of(quantity: Quantity) -> Self {
        Self { quantity, samples: Vec::new() }
    }

    pub(super) fn add(&mut self, sample: f64) {
        self.samples.push(sample);
    }

    /// Adds a difference of two times, which can be negative.
    pub(super) fn add_difference(&mut self, [time, less]: [Duration; 2]) {
        self.add((time.as_secs_f64() - less.as_secs_f64()) * 1e3);
    }

    pub(super) fn add_time(&mut self, time: Duration) {
        self.add(time.as_secs_f64() * 1e3);
    }

    /// Returns minimum, median and maximum; `None` without samples.
    pub(super) fn summary(&self) -> Option<[f64; 3]> {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        Some([*sorted.first()?, sorted[(sorted.len() - 1) / 2], *sorted.last()?])
    }

    /// Returns whether the median misses the target.
    pub(super) fn over(&self) -> bool {
        self.summary().zip(self.quantity.target).is_some_and(|([_, median, _], target)| median >= target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(samples: &[f64]) -> Figure {
        Figure { quantity: Quantity::ms("x", 2.0), samples: samples.to_vec() }
    }

    #[test]
    fn the_summary_is_sorted() {
        assert_eq!(figure(&[3.0, 1.0, 2.0]).summary(), Some([1.0, 2.0, 3.0]));
        assert_eq!(figure(&[4.0, 1.0, 2.0, 3.0]).summary(), Some([1.0, 2.0, 4.0]));
        assert_eq!(figure(&[]).summary(), None);
    }

    #[test]
    fn the_median_is_compared_with_the_target() {
        assert!(!figure(&[1.0, 1.9, 9.0]).over());
        assert!(figure(&[1.0, 2.0, 9.0]).over());
        assert!(!figure(&[]).over());
    }

    #[test]
    fn times_are_kept_in_milliseconds() {
        let mut figure = figure(&[]);
        figure.add_time(Duration::from_micros(1500));
        assert_eq!(figure.summary(), Some([1.5; 3]));
    }
}
