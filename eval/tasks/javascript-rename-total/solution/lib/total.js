// What an order costs, in cents.
function orderTotal(order) {
  return order.items.reduce((sum, item) => sum + item.price * item.count, 0);
}

module.exports = { orderTotal };
