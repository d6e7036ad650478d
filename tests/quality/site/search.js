// What Material's own search finds: node search.js WORKER INDEX < questions.json > hits.json
// WORKER is the script that the browser runs as a web worker; INDEX is search_index.json. Questions are a list of texts;
// the answer is, for each, the pages and headings in the order in which the browser shows them.
"use strict";

const fs = require("fs");
const vm = require("vm");

const [worker, index] = process.argv.slice(2);
const questions = JSON.parse(fs.readFileSync(0, "utf8"));
// The words of a question are chosen before it is put, by a script of the page.
vm.runInThisContext(fs.readFileSync(`${__dirname}/../../../docs/assets/search-words.js`, "utf8"));
let received;
let waiting;

globalThis.self = globalThis;
globalThis.addEventListener = (_, listener) => { received = listener; };
globalThis.postMessage = (message) => waiting(message);
vm.runInThisContext(fs.readFileSync(worker, "utf8"), { filename: worker });

const ask = (message) => new Promise((resolve) => { waiting = resolve; received({ data: message }); });

(async () => {
  // The types of messages: 0 sets the index up, 2 is a question.
  await ask({ type: 0, data: { ...JSON.parse(fs.readFileSync(index, "utf8")), options: {} } });
  const hits = [];
  for (const question of questions) {
    const found = (await ask({ type: 2, data: globalThis.searchWords(question) })).data.items;
    hits.push(found.map((group) => group.map((item) => item.location)));
  }
  process.stdout.write(JSON.stringify(hits));
})();
