const SMALLEST = 1;
const LARGEST = 250;
const USUAL = 20;

// The page size that is used for a wish.
function pageSize(wish) {
  const number = Number.parseInt(wish, 10);
  if (Number.isNaN(number)) {
    return USUAL;
  }
  return Math.min(LARGEST, Math.max(SMALLEST, number));
}

// Which items are on a page, counted from 0.
function slice(items, page, wish) {
  const size = pageSize(wish);
  return items.slice(page * size, (page + 1) * size);
}

module.exports = { pageSize, slice };
