const notes = require("./notes");

// Method, path and what is done.
const routes = [
  ["GET", "/notes", () => notes.all()],
  ["GET", "/notes/:id", ({ id }) => notes.one(id)],
  ["PUT", "/notes/:id", ({ id }, body) => notes.save(id, body)],
  ["POST", "/notes/:id/discard", ({ id }) => notes.remove(id)],
  ["POST", "/notes/:id/pin", ({ id }) => notes.pin(id)],
];

module.exports = { routes };
