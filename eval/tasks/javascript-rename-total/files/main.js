const { report } = require("./lib/report");
const { calc } = require("./lib/total");

const orders = [
  { id: "a", items: [{ price: 250, count: 2 }] },
  { id: "b", items: [{ price: 100, count: 1 }, { price: 30, count: 3 }] },
];

console.log(report(orders));
console.log(`first: ${calc(orders[0])}`);
