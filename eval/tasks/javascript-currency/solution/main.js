const { price } = require("./price");

console.log(price(1250));
console.log(price(990, "USD"));
