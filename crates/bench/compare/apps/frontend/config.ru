# The application behind the fronts, for Rack: a page that takes some
# milliseconds of processor time and then waits, as for a database.
# page.php beside it does the same work with the same library.
require 'openssl'

PAGE_BYTES = 4096
ITERATIONS = 10_000
WAIT_SECONDS = 0.005

run(lambda do |_env|
  key = OpenSSL::KDF.pbkdf2_hmac('forebay', salt: 'page', length: 32, iterations: ITERATIONS, hash: 'sha256')
  sleep WAIT_SECONDS
  body = "#{key.unpack1('H*')}\n".ljust(PAGE_BYTES, '.')
  headers = {
    'Content-Type' => 'text/plain',
    'Content-Length' => body.bytesize.to_s,
    'Cache-Control' => 'no-store'
  }
  [200, headers, [body]]
end)
