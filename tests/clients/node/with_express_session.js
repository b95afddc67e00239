'use strict';
// express-session with connect-memcached: sessions of a site, as a Node application keeps them.

const http = require('node:http');
const session = require('express-session');
const MemcachedStore = require('connect-memcached')(session);
const { STORE, assert, tell } = require('./stories');

const store = new MemcachedStore({ hosts: [STORE], prefix: 'site:', timeout: 5000, retries: 0 });
const sessions = session({ store, secret: 'secret', resave: false, saveUninitialized: false });

const pages = {
  '/count'(request, end) {
    request.session.visits = (request.session.visits || 0) + 1;
    end(request.session.visits);
  },
  '/read': (request, end) => end(request.session.visits || 0),
  '/renew'(request, end) {
    const { visits } = request.session;
    request.session.regenerate((error) => {
      request.session.visits = visits;
      end(error ? error.message : 'renewed');
    });
  },
  '/end': (request, end) => request.session.destroy((error) => end(error ? error.message : 'ended')),
};

const site = http.createServer((request, response) => {
  sessions(request, response, (error) => {
    if (error) return response.writeHead(500).end(String(error));
    return pages[request.url](request, (text) => response.end(String(text)));
  });
});

/** A browser, as far as its session goes. */
class Visitor {
  cookie = '';

  async get(path) {
    const url = `http://127.0.0.1:${site.address().port}${path}`;
    const answer = await fetch(url, { headers: { cookie: this.cookie } });
    const [cookie] = answer.headers.getSetCookie();
    if (cookie) [this.cookie] = cookie.split(';');
    assert.equal(answer.status, 200);
    return answer.text();
  }
}

site.listen(0, '127.0.0.1', () => tell('express-session', {
  async 'a session is read on the next page, and by nobody else'() {
    const visitor = new Visitor();
    assert.equal(await visitor.get('/count'), '1');
    assert.equal(await visitor.get('/count'), '2');
    assert.equal(await new Visitor().get('/read'), '0');
  },

  async 'a session with a new name keeps its content, and the old name is worth nothing'() {
    const visitor = new Visitor();
    await visitor.get('/count');
    const thief = Object.assign(new Visitor(), visitor);
    assert.equal(await visitor.get('/renew'), 'renewed');
    assert.equal(await visitor.get('/read'), '1');
    assert.equal(await thief.get('/read'), '0');
  },

  async 'a session that was destroyed is gone'() {
    const visitor = new Visitor();
    await visitor.get('/count');
    assert.equal(await visitor.get('/end'), 'ended');
    assert.equal(await visitor.get('/read'), '0');
  },

  async 'fifty visitors at once have each their own session'() {
    const visits = Array.from({ length: 50 }, async () => {
      const visitor = new Visitor();
      for (let count = 1; count <= 10; count += 1) assert.equal(await visitor.get('/count'), String(count));
      return visitor.cookie;
    });
    assert.equal(new Set(await Promise.all(visits)).size, 50);
  },
}, () => {
  store.client.end();
  site.close();
  site.closeAllConnections();
}));
