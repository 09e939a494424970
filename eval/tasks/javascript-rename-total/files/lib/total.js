// What an order costs, in cents.
function calc(order) {
  return order.items.reduce((sum, item) => sum + item.price * item.count, 0);
}

module.exports = { calc };
