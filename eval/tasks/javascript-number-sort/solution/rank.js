// The numbers in rising order; the list that is given stays as it is.
function rank(numbers) {
  return [...numbers].sort((a, b) => a - b);
}

// The best scores, highest first.
function best(numbers, count) {
  return rank(numbers).reverse().slice(0, count);
}

module.exports = { rank, best };
