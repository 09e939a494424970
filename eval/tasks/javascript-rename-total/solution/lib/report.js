const { orderTotal } = require("./total");

// One line per order, and the sum of all.
function report(orders) {
  const lines = orders.map((order) => `${order.id}: ${orderTotal(order)}`);
  const sum = orders.map(orderTotal).reduce((a, b) => a + b, 0);
  return [...lines, `sum: ${sum}`].join("\n");
}

module.exports = { report };
