const test = require("node:test");
const assert = require("node:assert");
const { Cart } = require("./cart");

test("the total counts every piece", () => {
  const cart = new Cart();
  cart.add("pen", 150, 3);
  cart.add("ink", 500);
  assert.equal(cart.total(), 950);
});

test("what is removed is gone, and only that", () => {
  const cart = new Cart();
  cart.add("pen", 150);
  cart.add("ink", 500);
  cart.remove("pen");
  assert.deepEqual(cart.lines.map((line) => line.name), ["ink"]);
});
