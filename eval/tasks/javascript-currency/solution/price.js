// A price as people read it.
function price(cents, currency = "EUR") {
  return `${(cents / 100).toFixed(2)} ${currency}`;
}

module.exports = { price };
