// No validator: it would send the description to another host.
SwaggerUIBundle({ url: "/openapi.json", dom_id: "#documentation", validatorUrl: null });
