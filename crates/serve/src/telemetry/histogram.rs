//! The counts of a histogram.

use metrics::HistogramFn;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of values by their size, and their sum.
#[derive(Debug)]
pub(super) struct Cells {
    bounds: &'static [f64],
    /// The values in each bucket and not in the one before; the last has no bound.
    counts: Vec<AtomicU64>,
    /// The bits of the sum.
    sum: AtomicU64,
}

impl Cells {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Returns how many values are at most each bound, and how many there are at all.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let mut below = 0;
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(&self.counts).map(move |(bound, count)| {
            below += count.load(Ordering::Relaxed);
            (bound, below)
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub(super) fn sum(&self) -> f64 {
        f64::from_bits(self.sum.load(Ordering::Relaxed))
    }
}

impl HistogramFn for Cells {
    fn record(&self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let add = |sum: u64| Some((f64::from_bits(sum) + value).to_bits());
        // It is set in the end, however many add at the same time.
        let _ = self.sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}
