# frozen_string_literal: true

# Dalli: the binary protocol, with SASL.

require 'dalli'
require_relative 'stories'

Dalli.logger.level = Logger::FATAL

client = Dalli::Client.new(STORE, socket_timeout: 5, value_max_bytes: 4 << 20)
client.flush

tell('dalli', 'values are set, read and deleted') do
  ['text', 7, { 'a' => [1, 2] }, nil, 'x' * 900_000].each do |value|
    taken(client.set('key', value))
    same(client.get('key'), value)
  end
  taken(client.delete('key'))
  refused(client.delete('key'))
  same(client.get('key'), nil)
end

tell('dalli', 'add, replace, append, prepend and cas keep to their conditions') do
  # Of these it does not say whether they were refused.
  client.replace('key', 'x')
  client.append('key', 'x')
  same(client.get('key'), nil)
  taken(client.add('key', 'b', 0, raw: true))
  refused(client.add('key', 'x'))
  client.append('key', 'c')
  client.prepend('key', 'a')
  same(client.get('key', raw: true), 'abc')
  value, version = client.get_cas('key')
  same(value, 'abc')
  taken(client.set_cas('key', 'd', version))
  refused(client.set_cas('key', 'e', version))
  refused(client.delete_cas('key', version))
  same(client.get('key'), 'd')
end

tell('dalli', 'many keys are written without answers and read at once') do
  values = (1..500).to_h { |n| ["key-#{n}", "value #{n}"] }
  client.multi { values.each { |key, value| client.set(key, value) } }
  same(client.get_multi(values.keys + ['unknown']), values)
end

tell('dalli', 'numbers begin where they are told to, and are counted') do
  client.delete('n')
  same(client.incr('n', 1), nil)
  same(client.incr('n', 1, 0, 10), 10)
  same(client.incr('n', 5), 15)
  same(client.decr('n', 20), 0)
end

tell('dalli', 'items can be given another end, by touch and by gat') do
  client.set('key', 'value', 1000)
  taken(client.touch('key', 2000))
  same(client.gat('key', 3000), 'value')
  same(client.get('key'), 'value')
  client.delete('key')
  refused(client.touch('key', 2000))
  same(client.gat('key', 3000), nil)
end

tell('dalli', 'a counter that eight threads share loses nothing, by incr and by cas') do
  client.set('incr', '0', 0, raw: true)
  client.set('cas', 0)
  threads = Array.new(8) do
    Thread.new do
      100.times do
        client.incr('incr')
        nil until client.cas('cas') { |value| value + 1 }
      end
    end
  end
  threads.each(&:join)
  same([client.get('incr', raw: true), client.get('cas')], ['800', 800])
end

tell('dalli', 'a store with a token answers only those who have shown it, by SASL') do
  friend = Dalli::Client.new(GUARDED, username: USER, password: TOKEN)
  taken(friend.set('key', 'value'))
  stranger = Dalli::Client.new(GUARDED, username: USER, password: "x#{TOKEN}")
  let_in = begin
    stranger.set('key', 'theirs')
  rescue Dalli::DalliError
    false
  end
  refused(let_in)
  same(friend.get('key'), 'value')
end
