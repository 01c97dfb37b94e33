// proxy auto-configuration
function FindProxyForURL(url, host) {
  if (dnsDomainIs(host, ".example.com")) return "PROXY 192.0.2.61:3128";
  return "DIRECT";
}
