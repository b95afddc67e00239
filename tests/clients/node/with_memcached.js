'use strict';
// memcached (the package): the text protocol.

const Memcached = require('memcached');
const { promisify } = require('node:util');
const { STORE, assert, tell } = require('./stories');

const client = new Memcached(STORE, { timeout: 5000, retries: 0, failures: 0 });
const ask = Object.fromEntries(
  ['get', 'gets', 'getMulti', 'set', 'add', 'replace', 'append', 'prepend', 'cas', 'incr', 'decr',
    'touch', 'del', 'flush', 'version', 'stats'].map((name) => [name, promisify(client[name].bind(client))]),
);

/** Whether a command was refused: the package makes an error of "not stored". */
const refused = (answer) => answer.then((told) => told === false, (error) => error.notStored === true);

tell('memcached', {
  async 'values are set, read and deleted'() {
    await ask.flush();
    for (const value of ['text', 7, true, { a: [1, 2] }, Buffer.from([0, 13, 10, 255]), 'x'.repeat(900_000)]) {
      assert.equal(await ask.set('key', value, 1000), true);
      assert.deepEqual(await ask.get('key'), value);
    }
    assert.equal(await ask.del('key'), true);
    assert.equal(await ask.del('key'), false);
    assert.equal(await ask.get('key'), undefined);
  },

  async 'add, replace, append, prepend and cas keep to their conditions'() {
    assert.ok(await refused(ask.replace('key', 'x', 0)));
    assert.ok(await refused(ask.append('key', 'x')));
    assert.equal(await ask.add('key', 'b', 0), true);
    assert.ok(await refused(ask.add('key', 'x', 0)));
    assert.equal(await ask.append('key', 'c'), true);
    assert.equal(await ask.prepend('key', 'a'), true);
    const { key, cas } = await ask.gets('key');
    assert.equal(key, 'abc');
    assert.equal(await ask.cas('key', 'd', cas, 0), true);
    assert.ok(await refused(ask.cas('key', 'e', cas, 0)));
    assert.equal(await ask.get('key'), 'd');
  },

  async 'many keys are read at once'() {
    const numbers = Array.from({ length: 500 }, (_, n) => n);
    await Promise.all(numbers.map((n) => ask.set(`key-${n}`, `value ${n}`, 0)));
    const values = await ask.getMulti([...numbers.map((n) => `key-${n}`), 'unknown']);
    assert.equal(Object.keys(values).length, 500);
    assert.ok(numbers.every((n) => values[`key-${n}`] === `value ${n}`));
  },

  async 'numbers are counted up and down, and stop at zero'() {
    await ask.set('n', 10, 0);
    assert.equal(await ask.incr('n', 5), 15);
    assert.equal(await ask.decr('n', 20), 0);
    assert.equal(await ask.incr('unknown', 1), false);
  },

  async 'items end when they are told to'() {
    await ask.set('key', 'value', 1000);
    assert.equal(await ask.touch('key', 1000), true);
    assert.equal(await ask.get('key'), 'value');
    assert.equal(await ask.touch('key', -1), true);
    assert.equal(await ask.get('key'), undefined);
    assert.equal(await ask.touch('key', 1000), false);
  },

  async 'the version and what is counted are told'() {
    const [{ version }] = await ask.version();
    assert.equal(version, '1.6.18');
    const [rows] = await ask.stats();
    assert.ok(rows.cmd_set >= 500);
  },
}, () => client.end());
