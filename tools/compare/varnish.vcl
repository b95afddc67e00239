vcl 4.1;

# Varnish with its built-in policy.
backend origin {
    .host = "{origin_host}";
    .port = "{origin_port}";
}
