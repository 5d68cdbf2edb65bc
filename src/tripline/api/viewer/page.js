// Shows the document of this server. Nothing is asked of any other.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#page",
  deepLinking: true,
  docExpansion: "list",
  defaultModelExpandDepth: 2,
  defaultModelsExpandDepth: 0,
  filter: true,
  showExtensions: false,
  validatorUrl: null,
});
