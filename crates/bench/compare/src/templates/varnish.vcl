vcl 4.1;

# The built-in policy; freshness is what the origin says.
backend origin {
    .host = "{origin_host}";
    .port = "{origin_port}";
}
