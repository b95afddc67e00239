'use strict';
// How the stories of a client are told: each is a function, run in order, named when it has passed.

const assert = require('node:assert/strict');

exports.assert = assert;
/** The address of a store that anybody may use, as HOST:PORT. */
exports.STORE = process.env.FOREBAY_STORE;
/** The address of a store that wants USER and TOKEN. */
exports.GUARDED = process.env.FOREBAY_GUARDED_STORE;
exports.USER = process.env.FOREBAY_USER;
exports.TOKEN = process.env.FOREBAY_TOKEN;

/** Runs `stories`, an object of what is promised to how it is tried; a failure ends the program. */
exports.tell = async (client, stories, end = () => {}) => {
  try {
    for (const [promise, story] of Object.entries(stories)) {
      await story();
      console.log(`${client}: ${promise}`);
    }
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
  await end();
};
