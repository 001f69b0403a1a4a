// This Swagger UI knows OpenAPI 3.0, and refuses the number 3.1; what is new in that it shows all the same.
const description = await (await fetch("/openapi.json")).json();
description.openapi = "3.0.3";
// No validator: it would send the description to another host.
SwaggerUIBundle({ spec: description, dom_id: "#documentation", validatorUrl: null });
