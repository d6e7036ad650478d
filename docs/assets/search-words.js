// What is searched for of what somebody types or pastes: its words. The search takes a quoted part for one phrase, a colon for the
// name of a field, and each word for the beginning of one, so that `in` finds `installing`.
(() => {
  const COMMON = new Set(
    ("a about after all already also am an and any are as at be because been but by can cannot could did do does doesn don for from " +
      "get gets getting had has have how however i if in into is isn it its just like many may me more most my no not of off on one " +
      "only or other our out over s seem seems should since so some t than that the their them then there these they this those to " +
      "too trying us use used using very via want was we were what when where which while who why will with won would yet you your")
      .split(" ")
  );
  // What every page is about, and what every message says.
  for (const word of "cluster error fail failed fails failing k8s kubernetes node nodes windows work working works".split(" ")) {
    COMMON.add(word);
  }
  const MOST = 24;
  const EXACT = 4;

  // Numbers, times and ids of one machine are in no page; codes such as 0xc0370101 and releases such as 1.28 are.
  const tells = (word) =>
    word.length > 1 && !COMMON.has(word) && !/^\d+(\.\d{4,})?$/.test(word) && !/^\d+(ms|s|m|h|d)$/.test(word) &&
    !/^[ewif]?\d{4,}$/.test(word) && !(/^(?!0x)[0-9a-f]{8,}$/.test(word) && /\d/.test(word)) && !/^\d+(\.\d+){3}/.test(word);

  globalThis.searchWords = (text) => {
    const words = text
      .replace(/[\u2018\u2019]/g, "'")
      .replace(/\b(\w+)'\w+/g, "$1")
      .split(/[^\p{L}\p{N}_.\-]+/u)
      .map((word) => word.replace(/^[.\-_]+|[.\-_]+$/g, ""))
      .filter((word) => tells(word.toLowerCase()));
    const kept = [...new Set(words)].slice(0, MOST);
    // The word itself counts more than what begins with it.
    return kept.length ? kept.map((word) => `${word}^${EXACT} ${word}`).join(" ") : text;
  };

  if (typeof Worker === "function") {
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...more) {
      // The type of a question, as Material's search numbers its messages.
      const asks = message && message.type === 2 && typeof message.data === "string";
      return post.call(this, asks ? { ...message, data: globalThis.searchWords(message.data) } : message, ...more);
    };
  }
})();
