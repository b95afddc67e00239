# frozen_string_literal: true

# Rack::Session::Dalli: sessions of a site, as a Ruby application keeps them.

require 'rack'
require 'rack/session/dalli'
require_relative 'stories'

Dalli.logger.level = Logger::FATAL

pages = lambda do |env|
  session = env['rack.session']
  case env['PATH_INFO']
  when '/count' then session['visits'] = session.fetch('visits', 0) + 1
  when '/renew' then session.options[:renew] = true
  when '/end' then session.destroy
  end
  [200, {}, [session.fetch('visits', 0).to_s]]
end
SITE = Rack::Session::Dalli.new(pages, memcache_server: STORE, pool_size: 10, expire_after: 1000)

# A browser, as far as its session goes.
class Visitor
  attr_reader :cookie

  def get(path)
    page = Rack::MockRequest.new(SITE).get(path, 'HTTP_COOKIE' => cookie.to_s)
    @cookie = page['Set-Cookie'].split(';').first if page['Set-Cookie']
    page.body
  end
end

tell('rack', 'a session is read on the next page, and by nobody else') do
  visitor = Visitor.new
  same(visitor.get('/count'), '1')
  same(visitor.get('/count'), '2')
  same(Visitor.new.get('/read'), '0')
end

tell('rack', 'a session with a new name keeps its content, and the old name is worth nothing') do
  visitor = Visitor.new
  visitor.get('/count')
  thief = visitor.dup
  same(visitor.get('/renew'), '1')
  same(visitor.get('/read'), '1')
  same(thief.get('/read'), '0')
end

tell('rack', 'a session that was destroyed is gone') do
  visitor = Visitor.new
  visitor.get('/count')
  visitor.get('/end')
  same(visitor.get('/read'), '0')
end

tell('rack', 'fifty visitors at once have each their own session') do
  visits = Array.new(50) do
    Thread.new do
      visitor = Visitor.new
      (1..10).each { |count| same(visitor.get('/count'), count.to_s) }
      visitor.cookie
    end
  end
  same(visits.map(&:value).uniq.size, 50)
end
