//! Token usage and its cost.

/// Tokens used and their cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// The input tokens that were read from the provider's cache.
    pub cache_read: u64,
    /// The input tokens that were written to the provider's cache.
    pub cache_write: u64,
    /// The cost of the tokens whose price is known; `None` if no price is known.
    pub cost: Option<Cost>,
    /// Input and output tokens whose price is not known; [`Usage::cost`] leaves them out.
    pub unpriced: u64,
}

impl Usage {
    /// Returns the tokens of one request with their cost; without a price they count as unpriced.
    #[must_use]
    pub fn priced(self, price: Option<&Price>) -> Self {
        match price {
            Some(price) => Self { cost: Some(price.of(self)), unpriced: 0, ..self },
            None => Self { cost: None, unpriced: self.all(), ..self },
        }
    }

    /// Returns the tokens used since an earlier count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let cost = self.cost.map(|cost| match earlier.cost {
            Some(before) => Cost(cost.0.saturating_sub(before.0)),
            None => cost,
        });
        Self {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cache_read: self.cache_read.saturating_sub(earlier.cache_read),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write),
            unpriced: self.unpriced.saturating_sub(earlier.unpriced),
            cost,
        }
    }

    /// Returns the number of all tokens; cached ones count once.
    pub fn all(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the tokens that count against a token budget: output, and input that was not read
    /// from the provider's cache.
    pub fn metered(self) -> u64 {
        self.input.saturating_sub(self.cache_read).saturating_add(self.output)
    }

    /// Returns the input tokens that were neither read from nor written to the provider's cache.
    pub fn fresh_input(self) -> u64 {
        self.input.saturating_sub(self.cache_read).saturating_sub(self.cache_write)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.unpriced += other.unpriced;
        self.cost = match (self.cost, other.cost) {
            (Some(before), Some(more)) => Some(before.plus(more)),
            (before, more) => before.or(more),
        };
    }
}

/// The price of a model's tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// The standard rates.
    pub rates: Rates,
    /// The rates for requests with a long prompt, if the vendor has any.
    pub long: Option<LongPrompt>,
}

/// Rates in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Input tokens that did not use the cache.
    pub input: f64,
    /// Output tokens, including reasoning.
    pub output: f64,
    /// Input tokens read from the cache; `None` means the normal input rate.
    pub cache_read: Option<f64>,
    /// Input tokens written to the cache; `None` means the normal input rate.
    pub cache_write: Option<f64>,
}

/// Rates for requests with a long prompt; they apply to all tokens of the request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongPrompt {
    /// A prompt is long when it has more tokens than this.
    pub above: u64,
    /// The rates of such a request.
    pub rates: Rates,
}

/// An amount of money in whole US picodollars, so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(pub u64);

/// Picodollars in a dollar.
const PICO: f64 = 1e12;
/// The number of tokens that a rate is for.
const MILLION: f64 = 1e6;

impl Price {
    /// Returns the cost of one request.
    pub fn of(&self, used: Usage) -> Cost {
        let rates = match self.long {
            Some(long) if used.input > long.above => long.rates,
            _ => self.rates,
        };
        let parts = [
            (used.fresh_input(), rates.input),
            (used.cache_read, rates.cache_read.unwrap_or(rates.input)),
            (used.cache_write, rates.cache_write.unwrap_or(rates.input)),
            (used.output, rates.output),
        ];
        parts.into_iter().fold(Cost::default(), |sum, (tokens, rate)| sum.plus(Cost::of(tokens, rate)))
    }
}

impl Cost {
    /// Returns the cost of tokens at a rate in dollars per million.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "the cast saturates, a rate below zero costs nothing, and what is lost is less than a picodollar in a thousand dollars"
    )]
    fn of(tokens: u64, rate: f64) -> Self {
        Self((tokens as f64 * rate * (PICO / MILLION)).round() as u64)
    }

    /// Returns the sum of both, saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the amount in US dollars, for display and for wires.
    #[expect(clippy::cast_precision_loss, reason = "sums beyond 9,000 dollars lose picodollars")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };

    fn used(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
        Usage { input, output, cache_read, cache_write, ..Usage::default() }
    }

    #[test]
    fn cached_tokens_are_priced_as_such_and_each_token_once() {
        let price = Price { rates: RATES, long: None };
        for (used, expected) in [
            (used(0, 0, 0, 0), 0.0),
            (used(1_000_000, 0, 0, 0), 3.0),
            (used(1_000_000, 100_000, 0, 0), 4.5),
            (used(1_000_000, 0, 1_000_000, 0), 0.3),
            (used(1_000_000, 0, 600_000, 200_000), 0.6 + 0.18 + 0.75),
            (used(1, 0, 0, 0), 0.000_003),
        ] {
            assert!((price.of(used).dollars() - expected).abs() < 1e-12, "{used:?}");
        }
        let plain = Price { rates: Rates { cache_read: None, cache_write: None, ..RATES }, long: None };
        assert_eq!(plain.of(used(900, 0, 300, 300)), plain.of(used(900, 0, 0, 0)), "no rate of its own");
    }

    #[test]
    fn a_long_prompt_has_its_own_rates() {
        let long = LongPrompt { above: 200_000, rates: Rates { input: 6.0, ..RATES } };
        let price = Price { rates: RATES, long: Some(long) };
        assert!((price.of(used(200_000, 0, 0, 0)).dollars() - 0.6).abs() < 1e-12);
        assert!((price.of(used(200_001, 0, 0, 0)).dollars() - 1.200_006).abs() < 1e-12);
    }

    #[test]
    fn sums_are_exact_and_tell_what_they_leave_out() {
        let price = Price { rates: Rates { input: 0.1, output: 0.2, ..RATES }, long: None };
        let mut sum = Usage::default();
        for _ in 0..1_000 {
            sum += used(1, 1, 0, 0).priced(Some(&price));
        }
        assert_eq!(sum.cost.map(Cost::dollars), Some(0.000_3));
        assert_eq!(sum.unpriced, 0);
        sum += used(7, 2, 0, 0).priced(None);
        assert_eq!((sum.cost.map(Cost::dollars), sum.unpriced), (Some(0.000_3), 9));
        assert_eq!(used(7, 2, 0, 0).priced(None).cost, None);
    }
}
