// Takes a date such as 20260309 apart.
exports.parts = (text) => ({
  year: text.slice(0, 4),
  month: text.slice(4, 6),
  day: text.slice(6, 8),
});

// month/day/year
exports.shown = (text) => {
  const { year, month, day } = exports.parts(text);
  return `${month}/${day}/${year}`;
};
