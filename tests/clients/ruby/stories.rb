# frozen_string_literal: true

# How the stories of a client are told: each is a block, run in order, named when it has passed.

# The address of a store that anybody may use, as HOST:PORT.
STORE = ENV.fetch('FOREBAY_STORE')
# The address of a store that wants USER and TOKEN.
GUARDED = ENV.fetch('FOREBAY_GUARDED_STORE')
USER = ENV.fetch('FOREBAY_USER')
TOKEN = ENV.fetch('FOREBAY_TOKEN')

def tell(client, promise)
  yield
  puts "#{client}: #{promise}"
end

# Fails unless both are the same.
def same(actual, expected)
  raise "#{actual.inspect}, not #{expected.inspect}" unless actual == expected
end

# Fails unless the server took what it was given.
def taken(answer)
  raise "refused: #{answer.inspect}" unless answer
end

# Fails unless the server refused.
def refused(answer)
  raise "taken: #{answer.inspect}" if answer
end
