// Loads a page, and tries again when the server is busy.
const ATTEMPTS = 7;
const FIRST_PAUSE_MS = 200;

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function load(url, send = fetch) {
  let wait = FIRST_PAUSE_MS;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const answer = await send(url);
    if (answer.ok) {
      return answer.text();
    }
    await pause(wait);
    wait *= 2;
  }
  throw new Error(`gave up on ${url}`);
}

module.exports = { load };
