class Cart {
  constructor() {
    this.lines = [];
  }

  add(name, price, count = 1) {
    this.lines.push({ name, price, count });
  }

  remove(name) {
    this.lines = this.lines.filter((line) => line.name !== name);
  }

  total() {
    return this.lines.reduce((sum, line) => sum + line.price * line.count, 0);
  }
}

module.exports = { Cart };
