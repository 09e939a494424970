const store = new Map();

exports.all = () => [...store.values()];
exports.one = (id) => store.get(id);
exports.save = (id, note) => store.set(id, note);
exports.pin = (id) => store.set(id, { ...store.get(id), pinned: true });
exports.remove = (id) => store.delete(id);
