'use strict';
// memjs: the binary protocol, with SASL.

const memjs = require('memjs');
const { GUARDED, STORE, TOKEN, USER, assert, tell } = require('./stories');

const OPTIONS = { timeout: 5, retries: 1, logger: { log() {} } };
const client = memjs.Client.create(STORE, OPTIONS);

/** What is stored under a key, as a text; null for nothing. */
async function text(key, from = client) {
  const { value } = await from.get(key);
  return value && value.toString();
}

tell('memjs', {
  async 'values of any bytes are set, read and deleted'() {
    const large = Buffer.alloc(900_000, Uint8Array.from({ length: 256 }, (_, n) => n));
    assert.equal(await client.set('key', 'value', {}), true);
    assert.equal(await client.set('large', large, {}), true);
    assert.equal(await text('key'), 'value');
    assert.ok((await client.get('large')).value.equals(large));
    assert.equal(await client.delete('key'), true);
    assert.equal(await client.delete('key'), false);
    assert.equal(await text('key'), null);
  },

  async 'add, replace and append keep to their conditions'() {
    await client.delete('key');
    assert.equal(await client.replace('key', 'x', {}), false);
    await assert.rejects(client.append('key', 'x'), /not stored/);
    assert.equal(await client.add('key', 'b', {}), true);
    assert.equal(await client.add('key', 'x', {}), false);
    assert.equal(await client.append('key', 'c'), true);
    assert.equal(await text('key'), 'bc');
    assert.equal(await client.replace('key', 'd', {}), true);
    assert.equal(await text('key'), 'd');
  },

  async 'numbers begin where they are told to, and are counted'() {
    await client.delete('n');
    assert.equal((await client.increment('n', 1, { initial: 10 })).value, 10);
    assert.equal((await client.increment('n', 5, {})).value, 15);
    assert.equal((await client.decrement('n', 20, {})).value, 0);
  },

  async 'items end when they are told to'() {
    await client.set('key', 'value', { expires: 1000 });
    assert.equal(await client.touch('key', 1000), true);
    assert.equal(await text('key'), 'value');
    // A second of 1970: what is beyond 30 days is no span.
    assert.equal(await client.touch('key', 2_592_001), true);
    assert.equal(await text('key'), null);
    assert.equal(await client.touch('key', 1000), false);
  },

  async 'a thousand commands at once are each answered with their own value'() {
    const numbers = Array.from({ length: 500 }, (_, n) => n);
    await Promise.all(numbers.map((n) => client.set(`key-${n}`, `value ${n}`, {})));
    const values = await Promise.all(numbers.map((n) => text(`key-${n}`)));
    assert.deepEqual(values, numbers.map((n) => `value ${n}`));
  },

  async 'a store with a token answers only those who have shown it, by SASL'() {
    const guest = (password) =>
      memjs.Client.create(GUARDED, { ...OPTIONS, username: USER, password });
    const friend = guest(TOKEN);
    assert.equal(await friend.set('key', 'value', {}), true);
    assert.equal(await text('key', friend), 'value');
    friend.close();
    const stranger = guest(`${TOKEN}x`);
    await assert.rejects(stranger.set('key', 'theirs', {}));
    stranger.close();
  },
}, () => client.close());
