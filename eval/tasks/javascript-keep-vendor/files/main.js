const { parts } = require("./vendor/parts");

// A date as people here read it.
function shown(text) {
  const { year, month, day } = parts(text);
  return `${month}/${day}/${year}`;
}

if (require.main === module) {
  console.log(process.argv.slice(2).map(shown).join("\n"));
}

module.exports = { shown };
