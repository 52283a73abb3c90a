SELECT attribute_name.name, attribute_name.kind, attribute.value
FROM attribute
CROSS JOIN attribute_name ON attribute_name.number = attribute.name
WHERE attribute.instance_key = ?1
