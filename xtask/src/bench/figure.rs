//! A figure: the samples of one quantity, and the target it has.

use std::time::Duration;

/// What is measured, and what it should stay under.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// The median should stay under this.
    pub(super) target: Option<f64>,
}

impl Quantity {
    /// A time in milliseconds.
    pub(super) const fn ms(name: &'static str, target: f64) -> Self {
        Self { name, unit: "ms", target: Some(target) }
    }

    /// A time in milliseconds that has no target.
    pub(super) const fn time(name: &'static str) -> Self {
        Self { name, unit: "ms", target: None }
    }

    /// A share of something, in percent.
    pub(super) const fn percent(name: &'static str, target: f64) -> Self {
        Self { name, unit: "%", target: Some(target) }
    }

    /// Memory in MiB.
    pub(super) const fn mib(name: &'static str, target: f64) -> Self {
        Self { name, unit: "MiB", target: Some(target) }
    }

    /// Something that is counted and has no target.
    pub(super) const fn count(name: &'static str) -> Self {
        Self { name, unit: "", target: None }
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

    /// A sample that is a difference may be less than nothing.
    pub(super) fn add_difference(&mut self, [time, less]: [Duration; 2]) {
        self.add((time.as_secs_f64() - less.as_secs_f64()) * 1e3);
    }

    pub(super) fn add_time(&mut self, time: Duration) {
        self.add(time.as_secs_f64() * 1e3);
    }

    /// The smallest sample, the one in the middle, and the largest; `None` without samples.
    pub(super) fn summary(&self) -> Option<[f64; 3]> {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        Some([*sorted.first()?, sorted[(sorted.len() - 1) / 2], *sorted.last()?])
    }

    /// Whether the median misses the target.
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
    fn the_median_is_held_against_the_target() {
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
