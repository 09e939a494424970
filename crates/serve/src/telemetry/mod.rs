//! What is counted and measured, for Prometheus.
//!
//! Every crate records by the `metrics` facade, which does nothing without a recorder. This is the
//! recorder of a server: it knows the metrics in `names.rs` and no others, and bounds their series.

mod histogram;
mod names;

use crate::limits::METRIC_SERIES;
use histogram::Cells;
use metrics::{Counter, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The value of labels whose series would be too many.
const OTHER: &str = "other";

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// It only grows.
    Counter,
    /// It is a number now.
    Gauge,
    /// It counts values by their size; holds the bounds of the buckets.
    Histogram(&'static [f64]),
}

impl Kind {
    /// Returns how many series it has for each set of labels.
    fn series(self) -> usize {
        match self {
            Self::Counter | Self::Gauge => 1,
            // The buckets, the one without a bound, the sum and the count.
            Self::Histogram(bounds) => bounds.len() + 3,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// The recorder of a server. Clones share their values.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<Series>>);

#[derive(Default)]
struct Series {
    /// The values of each metric, by its labels as they are printed.
    of: BTreeMap<&'static str, BTreeMap<String, Value>>,
    /// All series together.
    count: usize,
}

#[derive(Clone)]
enum Value {
    Number(Arc<AtomicU64>),
    Level(Arc<AtomicU64>),
    Cells(Arc<Cells>),
}

impl Value {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Number(Arc::default()),
            Kind::Gauge => Self::Level(Arc::default()),
            Kind::Histogram(bounds) => Self::Cells(Arc::new(Cells::new(bounds))),
        }
    }
}

impl Metrics {
    /// Makes this the recorder of the process.
    ///
    /// # Errors
    /// If the process has one already.
    pub fn install(&self) -> Result<(), String> {
        metrics::set_global_recorder(self.clone()).map_err(|error| error.to_string())
    }

    /// Sets a metric that is known as a whole, such as a number of connections.
    pub(crate) fn set(&self, name: &'static str, labels: &[(&'static str, &'static str)], value: usize) {
        let labels = labels.iter().map(|(key, value)| (*key, *value));
        if let Some(Value::Level(level)) = self.value(name, labels) {
            GaugeFn::set(&*level, f64::from(u32::try_from(value).unwrap_or(u32::MAX)));
        }
    }

    /// Returns all metrics in the text format of Prometheus, version 0.0.4.
    pub fn text(&self) -> String {
        let series = self.lock();
        let mut text = String::new();
        for about in names::ALL {
            let Some(values) = series.of.get(about.name) else { continue };
            // A `String` takes everything that is written to it.
            let _ = writeln!(text, "# HELP {} {}", about.name, about.help);
            let _ = writeln!(text, "# TYPE {} {}", about.name, about.kind.word());
            for (labels, value) in values {
                print(&mut text, about.name, labels, value);
            }
        }
        text
    }

    /// Returns the value of a metric with labels. Once there are too many series, those with
    /// another set of labels share one.
    fn value<'a>(
        &self,
        name: &str,
        labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Option<Value> {
        let about = names::ALL.iter().find(|about| about.name == name)?;
        let mut series = self.lock();
        let mut printed = print_labels(labels.clone());
        let is_known = |series: &Series, printed: &str| {
            series.of.get(about.name).is_some_and(|values| values.contains_key(printed))
        };
        // Each metric may still need one set of labels for all that follow.
        let reserved: usize = names::ALL.iter().map(|about| about.kind.series()).sum();
        if !is_known(&series, &printed) && series.count + about.kind.series() + reserved > METRIC_SERIES {
            printed = print_labels(labels.map(|(key, _)| (key, OTHER)));
        }
        if !is_known(&series, &printed) {
            series.count += about.kind.series();
        }
        let values = series.of.entry(about.name).or_default();
        Some(values.entry(printed).or_insert_with(|| Value::new(about.kind)).clone())
    }

    fn value_of(&self, key: &Key) -> Option<Value> {
        self.value(key.name(), key.labels().map(|label| (label.key(), label.value())))
    }

    fn lock(&self) -> MutexGuard<'_, Series> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns labels as they are printed, without braces.
fn print_labels<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let labels: Vec<_> = labels.map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
    labels.join(",")
}

fn print(text: &mut String, name: &str, labels: &str, value: &Value) {
    let braced = |labels: &str| if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    match value {
        Value::Number(number) => {
            let _ = writeln!(text, "{name}{} {}", braced(labels), number.load(Ordering::Relaxed));
        }
        Value::Level(level) => {
            let level = f64::from_bits(level.load(Ordering::Relaxed));
            let _ = writeln!(text, "{name}{} {level}", braced(labels));
        }
        Value::Cells(cells) => {
            let comma = if labels.is_empty() { "" } else { "," };
            for (bound, count) in cells.buckets() {
                let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
                let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_sum{} {}", braced(labels), cells.sum());
            let _ = writeln!(text, "{name}_count{} {}", braced(labels), cells.count());
        }
    }
}

impl Recorder for Metrics {
    fn describe_counter(&self, _key: KeyName, _unit: Option<Unit>, _description: SharedString) {}

    fn describe_gauge(&self, _key: KeyName, _unit: Option<Unit>, _description: SharedString) {}

    fn describe_histogram(&self, _key: KeyName, _unit: Option<Unit>, _description: SharedString) {}

    fn register_counter(&self, key: &Key, _metadata: &Metadata<'_>) -> Counter {
        match self.value_of(key) {
            Some(Value::Number(number)) => Counter::from_arc(number),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _metadata: &Metadata<'_>) -> Gauge {
        match self.value_of(key) {
            Some(Value::Level(level)) => Gauge::from_arc(level),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _metadata: &Metadata<'_>) -> Histogram {
        match self.value_of(key) {
            Some(Value::Cells(cells)) => Histogram::from_arc(cells),
            _ => Histogram::noop(),
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").field("series", &self.lock().count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::{counter, gauge, histogram, with_local_recorder};

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let recorder = Metrics::default();
        with_local_recorder(&recorder, || {
            counter!("tiller_tokens_total", "model" => "a/\"b\"\\\n", "direction" => "input").increment(7);
            gauge!("tiller_sockets").set(3.0);
            histogram!("tiller_turn_seconds").record(0.3);
            histogram!("tiller_turn_seconds").record(0.25);
            histogram!("tiller_turn_seconds").record(9_999.0);
            counter!("tiller_is_not_listed_total").increment(1);
            gauge!("tiller_turn_seconds").set(1.0);
        });
        recorder.set("tiller_connections", &[("transport", "http")], 2);
        let text = recorder.text();
        for line in [
            "# HELP tiller_turn_seconds Time of turns.",
            "# TYPE tiller_turn_seconds histogram",
            r#"tiller_turn_seconds_bucket{le="0.1"} 0"#,
            r#"tiller_turn_seconds_bucket{le="0.25"} 1"#,
            r#"tiller_turn_seconds_bucket{le="0.5"} 2"#,
            r#"tiller_turn_seconds_bucket{le="1800"} 2"#,
            r#"tiller_turn_seconds_bucket{le="+Inf"} 3"#,
            "tiller_turn_seconds_sum 9999.55",
            "tiller_turn_seconds_count 3",
            r#"tiller_tokens_total{model="a/\"b\"\\\n",direction="input"} 7"#,
            "# TYPE tiller_sockets gauge",
            "tiller_sockets 3",
            r#"tiller_connections{transport="http"} 2"#,
        ] {
            assert!(text.lines().any(|printed| printed == line), "{line}\n{text}");
        }
        assert!(!text.contains("not_listed"), "{text}");
    }

    #[test]
    fn beyond_two_thousand_series_further_labels_are_other() {
        let recorder = Metrics::default();
        with_local_recorder(&recorder, || {
            for nth in 0..3_000 {
                histogram!("tiller_tool_seconds", "tool" => format!("tool_{nth}")).record(1.0);
                counter!("tiller_tokens_total", "model" => format!("m{nth}"), "direction" => "input")
                    .increment(1);
            }
            counter!("tiller_slow_clients_total").increment(5);
            histogram!("tiller_tool_seconds", "tool" => "tool_0").record(1.0);
        });
        let text = recorder.text();
        let series = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!((1_500..=2_000).contains(&series), "{series}");
        assert!(text.contains(r#"tiller_tool_seconds_count{tool="tool_0"} 2"#), "{text}");
        assert!(text.contains(r#"tiller_tool_seconds_count{tool="other"} "#), "{text}");
        assert!(text.contains(r#"tiller_tokens_total{model="other",direction="other"} "#), "{text}");
        assert!(text.contains("tiller_slow_clients_total 5"), "{text}");
        let counted = |name: &str| -> u64 {
            let values = text
                .lines()
                .filter_map(|line| line.strip_prefix(name)?.rsplit(' ').next()?.parse::<u64>().ok());
            values.sum()
        };
        assert_eq!((counted("tiller_tool_seconds_count"), counted("tiller_tokens_total")), (3_001, 3_000));
    }

    #[test]
    fn the_metrics_are_sorted_and_named_by_the_rules_of_prometheus() {
        assert!(names::ALL.is_sorted_by_key(|about| about.name));
        for about in names::ALL {
            let unit = match about.kind {
                Kind::Counter => about.name.ends_with("_total"),
                Kind::Histogram(bounds) => about.name.ends_with("_seconds") && bounds.is_sorted(),
                Kind::Gauge => !about.name.ends_with("_total"),
            };
            assert!(unit && about.name.starts_with("tiller_") && about.help.ends_with('.'), "{about:?}");
        }
    }
}
